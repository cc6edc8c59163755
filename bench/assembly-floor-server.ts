import { readFileSync } from "node:fs";
import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { answerCpuQuestions } from "./assembly-client.js";

/**
 * The floor of what goes over the wire: a process in which nothing but grpc-js answers with bytes that it holds. By itself, since a
 * server beside it would collect its garbage, and it that server's. Which bytes is in the request's metadata: the names of files.
 */

const files = new Map<string, Buffer>();
const bytesOf = ({ metadata }: { readonly metadata: Metadata }): Buffer[] =>
  String(metadata.get("files")[0])
    .split(",")
    .map((path) => {
      const bytes = files.get(path) ?? readFileSync(path);
      files.set(path, bytes);
      return bytes;
    });
const identity = (bytes: Buffer) => bytes;
const asBytes = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
});
const server = new Server({ "grpc.max_send_message_length": -1 });
server.addService(
  {
    preEncoded: asBytes("/bench/PreEncoded", false),
    preEncodedStream: asBytes("/bench/PreEncodedStream", true),
  },
  {
    preEncoded: (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
      callback(null, bytesOf(call)[0]!),
    preEncodedStream: (call: ServerWritableStream<Buffer, Buffer>) => {
      for (const message of bytesOf(call)) call.write(message);
      call.end();
    },
  },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.send?.({ address: `127.0.0.1:${port}` });
});
answerCpuQuestions(
  () => Promise.resolve(),
  () => server.forceShutdown(),
);
