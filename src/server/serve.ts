import { setMaxListeners } from "node:events";
import { lstat, rm } from "node:fs/promises";
import { connect } from "node:net";
import { Server, type ServerCredentials, setLogger } from "@grpc/grpc-js";
import type { Config } from "../config/options.js";
import { systemClock, systemIds } from "../domain/clock.js";
import type { Logger } from "../telemetry/logger.js";
import { Admission } from "./admission/admission.js";
import { streamCall } from "./call/stream-call.js";
import { unaryCall } from "./call/unary-call.js";
import { addHealth } from "./health.js";
import { listenTrouble, socketPathTrouble } from "./listen-trouble.js";
import { createReflection } from "./reflection.js";
import type { Rpc } from "./rpc.js";
import { serverCredentials } from "./server-credentials.js";
import { type Rooms, servicesOn } from "./services.js";

/** What is served, and what ends when its database is lost. */
export interface Served extends Rooms {
  readonly database: { readonly lost: AbortSignal };
}

export interface RunningServer {
  /** Where it listens, with the ports that were chosen. */
  readonly addresses: readonly string[];
  /** Finishes the calls that run, within the grace time, and then closes. */
  stop(): Promise<void>;
}

const keepaliveMs = 60_000;
/** How long a stop waits for work that nobody waits for any more. */
const lastMs = 5_000;

export async function serve(
  config: Config,
  rooms: Served,
  logger: Logger,
  credentials: ServerCredentials = serverCredentials(config),
): Promise<RunningServer> {
  // What it says on stderr it also hands back.
  setLogger({ error: (said: string) => logger.debug({ said }, "grpc-js") });
  const admission = new Admission(config, systemClock, logger);
  const server = new Server({
    "grpc.max_receive_message_length": config.maxRequestBytes,
    "grpc.max_send_message_length": -1,
    "grpc.max_concurrent_streams": config.maxCallsPerConnection,
    // Finds peers that are gone without a word: their watches would stay for ever.
    "grpc.keepalive_time_ms": keepaliveMs,
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
  for (const { rpcs } of Object.values(servicesOn(rooms)))
    for (const rpc of Object.values<Rpc>(rpcs))
      admission.serve(rpc.method, rpc.kind === "unary" ? unaryCall(deps, rpc) : streamCall(deps, rpc));
  addHealth(server, draining.signal, rooms.database.lost);
  createReflection().addToServer(server);

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
        admission.calls.idle().then(resolve);
      });
      clearTimeout(timer);
      admission.close();
    },
  };
}

async function bind(server: Server, address: string, credentials: ServerCredentials): Promise<string> {
  const socket = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
  const refuse = (why: string) => new Error(`cannot listen on ${address} (--listen): ${why}`);
  if (socket !== undefined) {
    const trouble = socketPathTrouble(socket);
    if (trouble) throw refuse(trouble);
    await removeStaleSocket(socket);
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error) reject(refuse(listenTrouble(address, error.message)));
      else resolve(bound);
    });
  });
  return socket === undefined ? `${address.slice(0, address.lastIndexOf(":"))}:${port}` : address;
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
