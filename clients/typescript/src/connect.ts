import { randomUUID } from "node:crypto";
import { type ChannelCredentials, type ChannelOptions, Client, credentials, Metadata } from "@grpc/grpc-js";
import { AssemblyServiceDefinition } from "./gen/quire/v1/assembly_service.js";
import { CapsuleServiceDefinition } from "./gen/quire/v1/capsule_service.js";
import { LedgerServiceDefinition } from "./gen/quire/v1/ledger_service.js";
import { MemoryServiceDefinition } from "./gen/quire/v1/memory_service.js";
import { SourceServiceDefinition } from "./gen/quire/v1/source_service.js";
import { WorkspaceServiceDefinition } from "./gen/quire/v1/workspace_service.js";
import { QuireError } from "./quire-error.js";
import { withRetries } from "./retry.js";
import type { CallOptions, CallsOf, MethodDefinition, ServiceDefinition } from "./service.js";

/** The services of the contract. */
export const services = {
  ledger: LedgerServiceDefinition,
  capsules: CapsuleServiceDefinition,
  workspaces: WorkspaceServiceDefinition,
  memory: MemoryServiceDefinition,
  sources: SourceServiceDefinition,
  assembly: AssemblyServiceDefinition,
} as const;

/** A server's calls. What fails throws a QuireError. `createQuire` of quire-server has the same methods, in its own process. */
export type Quire = {
  readonly [Name in keyof typeof services]: CallsOf<(typeof services)[Name]>;
} & {
  /** Ends the connection. */
  close(): void;
};

export interface ConnectOptions {
  /** Without them, the connection is not encrypted. */
  readonly credentials?: ChannelCredentials;
  /** How long a call may take, its retries included, unless the call says otherwise: 60 seconds. */
  readonly timeoutMs?: number;
  /** Sent with every call, such as an authorization. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly channel?: ChannelOptions;
}

/**
 * Connects to a server, as in `connect("127.0.0.1:50051")`; the first call opens the connection. Calls are repeated while the server cannot
 * be reached or asks for it, and writes carry a request id, so that they happen once.
 */
export function connect(address = "127.0.0.1:50051", options: ConnectOptions = {}): Quire {
  const { timeoutMs = 60_000, headers = {} } = options;
  const client = new Client(address, options.credentials ?? credentials.createInsecure(), {
    // The server bounds what it sends in one message, unless a single message of a thread is larger.
    "grpc.max_receive_message_length": -1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 2_000,
    ...options.channel,
  });
  const caller: Caller = { client, timeoutMs, headers };
  const bound = Object.entries(services).map(([name, service]) => [name, callsOf(caller, service)]);
  return { ...Object.fromEntries(bound), close: () => client.close() } as Quire;
}

interface Caller {
  readonly client: Client;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
}

function callsOf(caller: Caller, service: ServiceDefinition): object {
  const methods = Object.entries(service.methods).map(([name, method]) => {
    const path = `/${service.fullName}/${method.name}`;
    const call = method.responseStream ? streamed(caller, path, method) : unary(caller, path, method);
    return [name, call];
  });
  return Object.fromEntries(methods);
}

function unary({ client, timeoutMs, headers }: Caller, path: string, method: MethodDefinition) {
  return (given: object, { signal, timeoutMs: own }: CallOptions = {}): Promise<unknown> => {
    // Made once, so that a repeated call is the same call.
    const request = withRequestId(method.requestType.fromPartial(given));
    const once = (leftMs: number) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(cancelled(signal));
        const call = client.makeUnaryRequest(
          path,
          (message: unknown) => Buffer.from(method.requestType.encode(message).finish()),
          (bytes: Buffer) => method.responseType.decode(bytes),
          request,
          metadataOf(headers),
          { deadline: Date.now() + leftMs },
          (error, response) => {
            signal?.removeEventListener("abort", cancel);
            if (error) reject(error);
            else resolve(response);
          },
        );
        const cancel = () => call.cancel();
        signal?.addEventListener("abort", cancel);
      });
    return withRetries(once, { signal, timeoutMs: own ?? timeoutMs });
  };
}

/** Streams are not repeated here: what was sent cannot be taken back. `Contexts` repeats assemblies, and a watch goes on by its sequence. */
function streamed({ client, headers }: Caller, path: string, method: MethodDefinition) {
  return async function* (given: object, { signal, timeoutMs }: CallOptions = {}): AsyncGenerator<unknown> {
    if (signal?.aborted) throw cancelled(signal);
    const call = client.makeServerStreamRequest(
      path,
      (message: unknown) => Buffer.from(method.requestType.encode(message).finish()),
      (bytes: Buffer) => method.responseType.decode(bytes),
      method.requestType.fromPartial(given),
      metadataOf(headers),
      timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel);
    // The iteration throws it; after the iteration, nobody is interested.
    call.on("error", () => {});
    try {
      yield* call;
    } catch (thrown) {
      throw QuireError.from(thrown);
    } finally {
      signal?.removeEventListener("abort", cancel);
      call.cancel();
    }
  };
}

/** Writes have a request id: without one, a write that was repeated could happen twice. */
function withRequestId(request: unknown): unknown {
  const { requestId } = request as { requestId?: string };
  return requestId === "" ? { ...(request as object), requestId: randomUUID() } : request;
}

function metadataOf(headers: Readonly<Record<string, string>>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

function cancelled(signal: AbortSignal): QuireError {
  return new QuireError("the call was cancelled", { code: "CANCELLED" }, { cause: signal.reason });
}
