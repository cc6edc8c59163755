import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelOptions, credentials, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { loadConfig } from "../../src/config/load-config.js";
import type { Config } from "../../src/config/options.js";
import { BadRequest, ErrorInfo, RetryInfo } from "../../src/contract/gen/google/rpc/error_details.js";
import { Status } from "../../src/contract/gen/google/rpc/status.js";
import { LedgerServiceClient } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { startServer } from "../../src/main.js";
import type { Logger } from "../../src/telemetry/logger.js";

/** A real server on a free loopback port, with a database of its own, and the generated client for it. */
export interface TestServer {
  readonly address: string;
  readonly folder: string;
  readonly config: Config;
  readonly ledger: LedgerServiceClient;
  connect(options?: ChannelOptions): LedgerServiceClient;
  stop(): Promise<void>;
}

export async function startTestServer(
  flags: Readonly<Partial<Record<keyof Config, unknown>>> = {},
  logger?: Logger,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "quire-test-"));
  const config = loadConfig({
    env: {},
    flags: {
      listen: "127.0.0.1:0",
      database: `file:${join(folder, "quire.db")}`,
      logLevel: "silent",
      ...flags,
    },
  });
  const server = await startServer(config, logger);
  const clients: LedgerServiceClient[] = [];
  const connect = (options: ChannelOptions = {}) => {
    const client = new LedgerServiceClient(server.addresses[0]!, credentials.createInsecure(), {
      "grpc.max_receive_message_length": -1,
      // Clients of one process would share one connection otherwise.
      "grpc.use_local_subchannel_pool": 1,
      ...options,
    });
    clients.push(client);
    return client;
  };
  return {
    address: server.addresses[0]!,
    folder,
    config,
    ledger: connect(),
    connect,
    async stop() {
      for (const client of clients) client.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

type UnaryMethod<Request, Response> = (
  request: Request,
  callback: (error: ServiceError | null, response: Response) => void,
) => unknown;

/** A unary call as a promise: `call(client, client.getSession, request)`. */
export function call<Request, Response>(
  client: LedgerServiceClient,
  method: UnaryMethod<Request, Response>,
  request: Request,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    method.call(client, request, (error, response) => (error ? reject(error) : resolve(response)));
  });
}

/** What a caller can read from an error. */
export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fields: readonly string[];
  readonly retry: boolean;
}

export function wireError(error: unknown): WireError {
  const { code, details, metadata } = error as { code: number; details: string; metadata: Metadata };
  const [bytes] = metadata.get("grpc-status-details-bin");
  const status = bytes ? Status.decode(bytes as Buffer) : undefined;
  const find = (name: string) =>
    status?.details.find((detail) => detail.typeUrl.endsWith(`/google.rpc.${name}`))?.value;
  const info = find("ErrorInfo");
  const bad = find("BadRequest");
  const retry = find("RetryInfo");
  const errorInfo = info ? ErrorInfo.decode(info) : undefined;
  return {
    code,
    message: details,
    reason: errorInfo?.reason ?? "",
    domain: errorInfo?.domain ?? "",
    metadata: errorInfo?.metadata ?? {},
    fields: bad ? BadRequest.decode(bad).fieldViolations.map((violation) => violation.field) : [],
    retry: retry !== undefined && RetryInfo.decode(retry).retryDelay !== undefined,
  };
}

/** The error of a call that must fail. */
export async function failure(promise: Promise<unknown>): Promise<WireError> {
  try {
    await promise;
  } catch (error) {
    return wireError(error);
  }
  throw new Error("the call succeeded");
}

/** What became of calls that were made at once and must all fail. To await them one by one would leave some unheard. */
export function failures(promises: readonly Promise<unknown>[]): Promise<WireError[]> {
  return Promise.all(promises.map(failure));
}
