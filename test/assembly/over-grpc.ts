import { Client, credentials } from "@grpc/grpc-js";
import { type MethodDefinition, methodPath, type ServiceDefinition } from "../../src/contract/service.js";
import { services } from "../../src/contract/services.js";
import type { CallOptions, Quire } from "../../src/index.js";

/** The in-process API, spoken over the wire to a server. What fails is a grpc-js ServiceError. */
export function overGrpc(address: string): Quire {
  const client = new Client(address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
    "grpc.use_local_subchannel_pool": 1,
  });
  const bind = (service: ServiceDefinition) =>
    Object.fromEntries(
      Object.entries(service.methods).map(([name, method]) => [
        name,
        callOf(client, methodPath(service, method), method),
      ]),
    );
  const calls = {
    assembly: bind(services.assembly),
    capsules: bind(services.capsules),
    ledger: bind(services.ledger),
    memory: bind(services.memory),
    workspaces: bind(services.workspaces),
    close: async () => client.close(),
  };
  return calls as unknown as Quire;
}

function callOf(
  client: Client,
  path: string,
  { requestType, responseType, responseStream }: MethodDefinition,
) {
  const encode = (given: object) => Buffer.from(requestType.encode(requestType.fromPartial(given)).finish());
  const decode = (bytes: Buffer) => responseType.decode(bytes);
  const cancelledBy = <C extends { cancel(): void }>(call: C, signal?: AbortSignal): C => {
    if (signal?.aborted) call.cancel();
    signal?.addEventListener("abort", () => call.cancel(), { once: true });
    return call;
  };
  if (responseStream) {
    return (given: object, { signal }: CallOptions = {}) =>
      cancelledBy(client.makeServerStreamRequest(path, encode, decode, given), signal);
  }
  return (given: object, { signal }: CallOptions = {}) =>
    new Promise((resolve, reject) => {
      const call = client.makeUnaryRequest(path, encode, decode, given, (error, response) =>
        error ? reject(error) : resolve(response),
      );
      cancelledBy(call, signal);
    });
}
