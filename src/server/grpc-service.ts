import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { CallDeps } from "./call/call-deps.js";
import { streamCall } from "./call/stream-call.js";
import { unaryCall } from "./call/unary-call.js";
import { joined } from "./encoded-response.js";
import type { Method } from "./method.js";
import type { Rpc } from "./rpc.js";
import type { Service } from "./service.js";
import { WireRequest } from "./wire-request.js";

/** Serves the RPCs of a service by grpc-js. */
export function addService(server: Server, deps: CallDeps, { rpcs }: Service): void {
  const definitions: Record<string, ServiceDefinition[string]> = {};
  const handlers: UntypedServiceImplementation = {};
  for (const [name, rpc] of Object.entries<Rpc>(rpcs)) {
    definitions[name] = grpcMethod(rpc.method);
    handlers[name] = rpc.kind === "unary" ? unaryCall(deps, rpc) : streamCall(deps, rpc);
  }
  server.addService(definitions, handlers);
}

/** Requests stay as they came until a call opens them, and an answer may be in wire form already. */
export function grpcMethod(method: Method): ServiceDefinition[string] {
  const { path, requestType, responseType, responseStream } = method;
  return {
    path,
    requestStream: false,
    responseStream,
    requestSerialize: (request) => Buffer.from(requestType.encode(request).finish()),
    requestDeserialize: (bytes) => new WireRequest(bytes, method),
    responseSerialize: (response) =>
      Array.isArray(response) ? joined(response) : Buffer.from(responseType.encode(response).finish()),
    responseDeserialize: (bytes) => responseType.decode(bytes),
  };
}
