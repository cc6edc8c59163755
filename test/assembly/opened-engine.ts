import { join } from "node:path";
import { credentials, Metadata } from "@grpc/grpc-js";
import { onTestFinished } from "vitest";
import { loadConfig } from "../../src/config/load-config.js";
import type { Config } from "../../src/config/options.js";
import {
  type AssembleResponse,
  AssemblyServiceClient,
  ContextRequest,
} from "../../src/contract/gen/quire/v1/assembly_service.js";
import { type Engine, type EngineOptions, openEngine } from "../../src/engine.js";
import { type Quire, quireOn } from "../../src/in-process/quire.js";
import { serve } from "../../src/server/serve.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { tempFolder } from "../support/temp-folder.js";
import type { PartialContext } from "./agent.js";

export type Flags = Readonly<Partial<Record<keyof Config, unknown>>>;

/** An engine whose parts a test can look at. */
export interface OpenedEngine {
  readonly engine: Engine;
  readonly config: Config;
  /** The engine in process. */
  readonly quire: Quire;
  close(): Promise<void>;
}

/** Opens an engine on a database of the running test, or on the one that is given. Closed when the test has finished, if not earlier. */
export async function openedEngine(flags: Flags = {}, options: EngineOptions = {}): Promise<OpenedEngine> {
  const database = flags.database ?? `file:${join(tempFolder(), "quire.db")}`;
  const config = loadConfig({
    env: {},
    flags: { listen: "127.0.0.1:0", logLevel: "silent", ...flags, database },
  });
  const engine = await openEngine(config, createLogger(config.logLevel), options);
  const quire = quireOn(engine);
  const close = () => quire.close();
  onTestFinished(close);
  return { engine, config, quire, close };
}

/** The engine behind a server. */
export interface ServedEngine extends OpenedEngine {
  readonly address: string;
  /** Assembles over the wire; the call fails when it is not done within its deadline. */
  assemble(context: PartialContext, withinMs?: number, signal?: AbortSignal): AsyncIterable<AssembleResponse>;
}

export async function servedEngine(flags: Flags = {}, options: EngineOptions = {}): Promise<ServedEngine> {
  const opened = await openedEngine(flags, options);
  const server = await serve(opened.config, opened.engine, createLogger("silent"));
  const address = server.addresses[0]!;
  const client = new AssemblyServiceClient(address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
  });
  let stopped: Promise<void> | undefined;
  const close = () => {
    client.close();
    stopped ??= server.stop().then(() => opened.close());
    return stopped;
  };
  onTestFinished(close);
  const assemble: ServedEngine["assemble"] = (context, withinMs, signal) => {
    const deadline = withinMs === undefined ? {} : { deadline: Date.now() + withinMs };
    const request = { context: ContextRequest.fromPartial(context) };
    const stream = client.assemble(request, new Metadata(), deadline);
    signal?.addEventListener("abort", () => stream.cancel());
    return stream as AsyncIterable<AssembleResponse>;
  };
  return { ...opened, address, assemble, close };
}
