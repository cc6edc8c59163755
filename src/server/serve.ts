import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { lstat, rm } from "node:fs/promises";
import { connect } from "node:net";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { AssemblyDeps } from "../assembly/deps.js";
import type { CapsuleDeps } from "../capsule/capsules.js";
import type { Config } from "../config/options.js";
import { systemClock, systemIds } from "../domain/clock.js";
import type { LedgerDeps } from "../ledger/deps.js";
import type { Logger } from "../telemetry/logger.js";
import type { WorkspaceDeps } from "../workspace/deps.js";
import { Admission } from "./admission/admission.js";
import { assemblyHandlers, assemblyService } from "./handlers/assembly.js";
import { capsuleHandlers, capsuleService } from "./handlers/capsule.js";
import { ledgerHandlers, ledgerService } from "./handlers/ledger.js";
import { workspaceHandlers, workspaceService } from "./handlers/workspace.js";
import { addHealth } from "./health.js";
import { createReflection } from "./reflection.js";
import { grpcHandlers } from "./rpc.js";

/** What the services are made of. */
export interface Rooms {
  readonly ledger: LedgerDeps;
  readonly capsules: CapsuleDeps;
  readonly workspaces: WorkspaceDeps;
  readonly assembly: AssemblyDeps;
  readonly database: { readonly lost: AbortSignal };
}

export interface RunningServer {
  /** Where it listens, with the ports that were chosen. */
  readonly addresses: readonly string[];
  /** Finishes the calls that run, within the grace time, and then closes. */
  stop(): Promise<void>;
}

const maxIdleMs = 30 * 60_000;
const keepaliveMs = 60_000;
/** How long a stop waits for work that nobody waits for any more. */
const lastMs = 5_000;

export async function serve(config: Config, rooms: Rooms, logger: Logger): Promise<RunningServer> {
  const admission = new Admission(config, systemClock, logger);
  const server = new Server({
    "grpc.max_receive_message_length": config.maxRequestBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": config.maxCallsPerConnection,
    "grpc.max_connection_idle_ms": maxIdleMs,
    // Finds peers that are gone without a word: their watches would stay for ever.
    "grpc.keepalive_time_ms": keepaliveMs,
    interceptors: [admission.interceptor],
  });
  const stopping = new AbortController();
  const draining = new AbortController();
  // Every call that runs listens to one of them.
  setMaxListeners(0, stopping.signal, draining.signal);
  const signals = { stopping: stopping.signal, draining: draining.signal };
  const deps = {
    logger,
    clock: systemClock,
    ids: systemIds,
    admission,
    offload: rooms.assembly.offload,
    ...signals,
  };
  server.addService(ledgerService, grpcHandlers(deps, ledgerHandlers(rooms.ledger, rooms.assembly)));
  server.addService(capsuleService, grpcHandlers(deps, capsuleHandlers(rooms.capsules)));
  server.addService(workspaceService, grpcHandlers(deps, workspaceHandlers(rooms.workspaces)));
  server.addService(assemblyService, grpcHandlers(deps, assemblyHandlers(rooms.assembly)));
  addHealth(server, draining.signal, rooms.database.lost);
  createReflection().addToServer(server);

  const credentials = serverCredentials(config);
  const addresses: string[] = [];
  try {
    for (const address of config.listen) {
      addresses.push(await bind(server, address, credentials));
      admission.guard(server);
    }
  } catch (error) {
    admission.close();
    server.forceShutdown();
    throw error;
  }
  return {
    addresses,
    async stop() {
      draining.abort();
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        server.tryShutdown(() => resolve());
        // Calls get the grace time, then a last moment to be told that the server goes down, then they are cut off.
        timer = setTimeout(() => {
          stopping.abort();
          timer = setTimeout(() => {
            server.forceShutdown();
            admission.cutOff();
            // grpc-js may never say that it is through, where a connection was closed at the moment it began.
            resolve();
          }, 500);
        }, config.shutdownGraceMs);
      });
      // Calls whose connections are gone go on for a while, and need the database.
      stopping.abort();
      clearTimeout(timer);
      await new Promise<void>((resolve) => {
        timer = setTimeout(resolve, lastMs);
        admission.idle().then(resolve);
      });
      clearTimeout(timer);
      admission.close();
    },
  };
}

function serverCredentials(config: Config): ServerCredentials {
  if (!config.tlsCertificate) return ServerCredentials.createInsecure();
  const cert_chain = readPem(config.tlsCertificate, "--tls-certificate");
  const private_key = readPem(config.tlsKey, "--tls-key");
  return ServerCredentials.createSsl(null, [{ cert_chain, private_key }]);
}

function readPem(file: string, flag: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`the file ${file} of ${flag} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function bind(server: Server, address: string, credentials: ServerCredentials): Promise<string> {
  if (address.startsWith("unix:")) await removeStaleSocket(address.slice("unix:".length));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error) reject(new Error(`cannot listen on ${address}: ${error.message}`, { cause: error }));
      else resolve(bound);
    });
  });
  return address.startsWith("unix:") ? address : `${address.slice(0, address.lastIndexOf(":"))}:${port}`;
}

/** A socket file that a killed server left behind would block the address for ever; one that someone serves stays. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() && !(await isServed(path))) await rm(path, { force: true });
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (served: boolean) => {
      socket.destroy();
      resolve(served);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}
