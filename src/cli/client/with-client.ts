import { clientOptions } from "../../config/client-options.js";
import type { ServerFlags } from "../commands/options.js";
import { QuireClient } from "./quire-client.js";

/** Runs a piece of work with a connection that is closed afterwards. */
export async function withClient<T>(
  flags: ServerFlags,
  work: (client: QuireClient) => Promise<T>,
): Promise<T> {
  const client = new QuireClient(clientOptions(flags));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
