import { Command } from "commander";
import type { Config } from "../../config/options.js";
import { createLogger } from "../../telemetry/logger.js";
import { startError } from "../start-error.js";
import { printJson, say, type Terminal } from "../terminal/terminal.js";
import { addConfigFlags, addJsonFlag, type ConfigFlags, examples, readConfig } from "./options.js";

export function serveCommand(terminal: Terminal): Command {
  const command = new Command("serve")
    .description("run the server until Ctrl-C")
    .addHelpText(
      "after",
      examples(
        "quire serve",
        "quire serve --listen 127.0.0.1:0 --database file:/tmp/try.db",
        "quire serve --listen unix:/run/quire.sock,127.0.0.1:50051",
      ),
    );
  return addJsonFlag(addConfigFlags(command)).action(
    async (flags: ConfigFlags & { readonly json?: boolean }) => {
      const config = readConfig(flags);
      // Loaded here, because the other commands need neither the server nor the database.
      const { startServer } = await import("../../main.js");
      const logger = createLogger(config.logLevel, flags.json ? terminal.stderr : undefined);
      let stopped: Promise<void> | undefined;
      // Not earlier: a signal during the start ends the process, whatever it waits for. Not later: whoever is told that the server listens
      // may stop it.
      const onListening = () => {
        stopped = firstSignal();
      };
      const server = await startServer(config, logger, onListening).catch((error: unknown) => {
        throw startError(error);
      });
      if (flags.json) printJson(terminal, { addresses: server.addresses, database: shownDatabase(config) });
      else greet(terminal, config, server.addresses);
      await stopped;
      say(terminal, "stopping: calls that run may finish; Ctrl-C again stops at once");
      await server.stop();
      process.exit(0);
    },
  );
}

function greet(terminal: Terminal, config: Config, addresses: readonly string[]): void {
  say(terminal, `quire listens on ${addresses.join(", ")} (${shownDatabase(config)}); Ctrl-C stops it`);
  say(terminal, `  try it: ${exampleCall(config, addresses[0] ?? "")}`);
}

function exampleCall(config: Config, address: string): string {
  // By its whole name: where it is not installed, npx would fetch another package that is called buf.
  const curl = "npx @bufbuild/buf curl --protocol grpc";
  const method = "quire.v1.LedgerService/ListSessions";
  if (address.startsWith("unix:")) {
    const socket = address.slice("unix:".length);
    return `${curl} --unix-socket ${socket} --http2-prior-knowledge http://localhost/${method}`;
  }
  if (config.tlsCertificate) return `${curl} --cacert ${config.tlsCertificate} https://${address}/${method}`;
  return `${curl} --http2-prior-knowledge http://${address}/${method}`;
}

/** Without the password that the address of a PostgreSQL server may hold. */
export function shownDatabase({ database }: Pick<Config, "database">): string {
  return database.replace(/^(\w+:\/\/[^:/@]*):.*@/, "$1:***@");
}

/** Resolves at the first signal to stop. At the second the process ends. */
function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve();
    };
    process.on("SIGINT", stop).on("SIGTERM", stop);
  });
}
