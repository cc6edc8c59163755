import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import type { Config } from "../config/options.js";
import { systemClock, systemIds } from "../domain/clock.js";
import type { LedgerDeps } from "../ledger/deps.js";
import type { Logger } from "../telemetry/logger.js";
import { ledgerHandlers, ledgerService } from "./handlers/ledger.js";
import { createReflection } from "./reflection.js";

export interface RunningServer {
  /** Where it listens, with the ports that were chosen. */
  readonly addresses: readonly string[];
  /** Finishes the calls that run, within the grace time, and then closes. */
  stop(): Promise<void>;
}

export async function serve(config: Config, ledger: LedgerDeps, logger: Logger): Promise<RunningServer> {
  const server = new Server({
    "grpc.max_receive_message_length": config.maxRequestBytes,
    "grpc.max_send_message_length": -1,
  });
  const stopping = new AbortController();
  const deps = { logger, clock: systemClock, ids: systemIds, stopping: stopping.signal };
  server.addService(ledgerService, { ...ledgerHandlers(deps, ledger) });
  const health = new HealthImplementation({ "": "SERVING", "quire.v1.LedgerService": "SERVING" });
  health.addToServer(server);
  createReflection().addToServer(server);

  const credentials = serverCredentials(config);
  const addresses: string[] = [];
  try {
    for (const address of config.listen) addresses.push(await bind(server, address, credentials));
  } catch (error) {
    server.forceShutdown();
    throw error;
  }
  return {
    addresses,
    async stop() {
      health.setStatus("", "NOT_SERVING");
      health.setStatus("quire.v1.LedgerService", "NOT_SERVING");
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      // Calls get the grace time, then a last moment to be told that the server goes down, then they are cut off.
      const timers = [
        setTimeout(() => stopping.abort(), config.shutdownGraceMs),
        setTimeout(() => server.forceShutdown(), config.shutdownGraceMs + 500),
      ];
      await closed;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function serverCredentials(config: Config): ServerCredentials {
  if (!config.tlsCertificate) return ServerCredentials.createInsecure();
  const pair = { cert_chain: readFileSync(config.tlsCertificate), private_key: readFileSync(config.tlsKey) };
  return ServerCredentials.createSsl(null, [pair]);
}

async function bind(server: Server, address: string, credentials: ServerCredentials): Promise<string> {
  // A socket file that a killed server left behind would block the address for ever.
  if (address.startsWith("unix:")) await rm(address.slice("unix:".length), { force: true });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error) reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error }));
      else resolve(bound);
    });
  });
  return address.startsWith("unix:") ? address : `${address.slice(0, address.lastIndexOf(":"))}:${port}`;
}
