import type { MethodDefinition } from "@grpc/grpc-js";

const identity = (bytes: Buffer) => bytes;

function bytesMethod(path: string): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
}

export const echoMethod = bytesMethod("/bench/Echo");
export const healthMethod = bytesMethod("/grpc.health.v1.Health/Check");
