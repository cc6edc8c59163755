import type { Session } from "../../contract/gen/quire/v1/session.js";
import type { Ledger } from "./quire-client.js";
import { unlessRefused } from "./unless-refused.js";

/** The session of that label, id or alias, if there is one. */
export async function findSession(ledger: Ledger, session: string): Promise<Session | undefined> {
  return (await unlessRefused("SESSION_NOT_FOUND", ledger.getSession({ session })))?.session;
}
