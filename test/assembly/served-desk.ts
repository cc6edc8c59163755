import { join } from "node:path";
import { onTestFinished } from "vitest";
import { loadConfig } from "../../src/config/load-config.js";
import type { Config } from "../../src/config/options.js";
import { type Engine, openEngine } from "../../src/engine.js";
import type { Quire } from "../../src/index.js";
import { serve } from "../../src/server/serve.js";
import { createLogger, type Logger } from "../../src/telemetry/logger.js";
import { tempFolder } from "../support/temp-folder.js";
import { overGrpc } from "./over-grpc.js";
import { putCapsule, setUpTravelDesk } from "./travel-desk.js";

export interface ServedDesk {
  readonly address: string;
  readonly quire: Quire;
  /** What is behind the server, for tests that hold its parts up. */
  readonly engine: Engine;
  stop(): Promise<void>;
}

type Flags = Readonly<Partial<Record<keyof Config, unknown>>>;

/** A server over the wire, on a folder that may have been served before. Stopped when the test has finished, if not earlier. */
export async function serveFolder(
  folder: string,
  flags: Flags = {},
  logger: Logger = createLogger("silent"),
): Promise<ServedDesk> {
  const database = `file:${join(folder, "quire.db")}`;
  const config = loadConfig({
    env: {},
    flags: { listen: "127.0.0.1:0", database, logLevel: "silent", ...flags },
  });
  const engine = await openEngine(config, logger);
  const server = await serve(config, engine, logger);
  const address = server.addresses[0]!;
  const quire = overGrpc(address);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= quire
      .close()
      .then(() => server.stop())
      .then(() => engine.close());
    return stopped;
  };
  onTestFinished(stop);
  return { address, quire, engine, stop };
}

/** The travel desk with its capsule "atlas", served. */
export async function serveDesk(flags: Flags = {}, logger?: Logger): Promise<ServedDesk> {
  const desk = await serveFolder(tempFolder(), flags, logger);
  await setUpTravelDesk(desk.quire);
  await putCapsule(desk.quire, "atlas", {}, 9);
  return desk;
}

/** Holds every read of history up until it is let go, and counts the reads. */
export function holdReads(engine: Engine): { readonly count: () => number; release(): void } {
  const { threads } = engine.ledger;
  const read = threads.readSegment.bind(threads);
  let count = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  threads.readSegment = async (...args) => {
    count++;
    await released;
    return read(...args);
  };
  return { count: () => count, release };
}
