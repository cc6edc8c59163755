import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientOptions } from "../../config/client-options.js";
import { loadConfig } from "../../config/load-config.js";
import { systemWords } from "../../config/system-words.js";
import { CliError } from "../cli-error.js";
import type { ServerFlags } from "../commands/options.js";
import { health } from "../doctor/address.js";
import { startError } from "../start-error.js";

/** Where the demo runs: on the server that is there, or on one of its own. */
export interface DemoServer {
  readonly flags: ServerFlags;
  /** Whether the demo started it. Its data are gone after `stop`. */
  readonly isOwn: boolean;
  stop(): Promise<void>;
}

export async function findOrStartServer(flags: ServerFlags): Promise<DemoServer> {
  const { address, authorities, isAsked } = clientOptions(flags);
  if (await health(address, authorities)) return { flags, isOwn: false, stop: async () => undefined };
  // Who names a server wants that one, and not a demo somewhere else.
  if (isAsked)
    throw new CliError(`no Quire server answers at ${address}`, {
      hints: ["quire demo --own runs on a server of its own"],
    });
  return startOwn();
}

export async function startOwn(): Promise<DemoServer> {
  const folder = await mkdtemp(join(tmpdir(), "quire-demo-")).catch((error: unknown) => {
    const why = `no folder for the demo can be made in ${tmpdir()} (${systemWords(error)})`;
    throw new CliError(`${why}; set TMPDIR to another folder`, { cause: error });
  });
  const remove = () => rmSync(folder, { recursive: true, force: true });
  // Also when Ctrl-C ends the demo half way.
  process.once("exit", remove);
  const interrupt = () => process.exit(130);
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  // Its own settings: what the environment says is meant for the server that keeps data.
  const config = loadConfig({
    env: {},
    flags: { listen: "127.0.0.1:0", database: `file:${join(folder, "quire.db")}`, logLevel: "silent" },
  });
  // Loaded here, because a demo on a running server needs neither the server nor the database.
  const { startServer } = await import("../../main.js");
  const server = await startServer(config).catch((error: unknown) => {
    throw startError(error);
  });
  return {
    flags: { address: server.addresses[0]! },
    isOwn: true,
    async stop() {
      await server.stop();
      process.off("SIGINT", interrupt).off("SIGTERM", interrupt).off("exit", remove);
      remove();
    },
  };
}
