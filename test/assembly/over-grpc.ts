import { Client, credentials, type MethodDefinition } from "@grpc/grpc-js";
import * as assembly from "../../src/contract/gen/quire/v1/assembly_service.js";
import * as capsules from "../../src/contract/gen/quire/v1/capsule_service.js";
import * as ledger from "../../src/contract/gen/quire/v1/ledger_service.js";
import * as workspaces from "../../src/contract/gen/quire/v1/workspace_service.js";
import type { CallOptions, Quire } from "../../src/index.js";

type Definitions = Readonly<Record<string, MethodDefinition<unknown, unknown>>>;
interface FromPartial {
  fromPartial(given: unknown): unknown;
}

/** The in-process API, spoken over the wire to a server. What fails is a grpc-js ServiceError. */
export function overGrpc(address: string): Quire {
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
  });
  const bind = (module: object, definitions: object) =>
    Object.fromEntries(
      Object.entries(definitions as Definitions).map(([name, definition]) => {
        const codec = (module as Record<string, FromPartial>)[
          `${name[0]!.toUpperCase()}${name.slice(1)}Request`
        ]!;
        return [name, callOf(client, definition, codec)];
      }),
    );
  const calls = {
    assembly: bind(assembly, assembly.AssemblyServiceService),
    capsules: bind(capsules, capsules.CapsuleServiceService),
    ledger: bind(ledger, ledger.LedgerServiceService),
    workspaces: bind(workspaces, workspaces.WorkspaceServiceService),
    close: async () => client.close(),
  };
  return calls as unknown as Quire;
}

function callOf(client: Client, definition: MethodDefinition<unknown, unknown>, codec: FromPartial) {
  const { path, requestSerialize, responseDeserialize } = definition;
  const cancelledBy = <C extends { cancel(): void }>(call: C, signal?: AbortSignal): C => {
    if (signal?.aborted) call.cancel();
    signal?.addEventListener("abort", () => call.cancel(), { once: true });
    return call;
  };
  if (definition.responseStream) {
    return (given: object, { signal }: CallOptions = {}) =>
      cancelledBy(
        client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, codec.fromPartial(given)),
        signal,
      );
  }
  return (given: object, { signal }: CallOptions = {}) =>
    new Promise((resolve, reject) => {
      const request = codec.fromPartial(given);
      const call = client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        (error, response) => (error ? reject(error) : resolve(response)),
      );
      cancelledBy(call, signal);
    });
}
