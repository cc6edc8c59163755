import {
  type Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { buildContext } from "../src/assembly/build-context.js";
import { AssemblyServiceDefinition } from "../src/contract/gen/quire/v1/assembly_service.js";
import { openEngine } from "../src/engine.js";
import { contextPieces } from "../src/receipts/built-context.js";
import { encodedResponse } from "../src/server/encoded-response.js";
import { assembleResponses } from "../src/server/handlers/assemble-responses.js";
import { methodsOf } from "../src/server/method.js";
import { serve } from "../src/server/serve.js";
import { nested } from "../src/server/wire-pieces.js";
import { createLogger } from "../src/telemetry/logger.js";
import { benchConfig, contextRequest, tenantId } from "./assembly-fixture.js";

/**
 * A server of its own for what goes over the wire, so that its CPU is not the client's: the service as it is, and beside
 * it one that sends contexts which were made before.
 */

const config = benchConfig(process.argv[2]!);
const logger = createLogger("silent");
const engine = await openEngine(config, logger);
const running = await serve(config, engine, logger);

interface Made {
  readonly whole: Buffer;
  /** The messages of the same context as a stream. */
  readonly streamed: readonly Buffer[];
}

const contexts = new Map<string, Made>();
const { assemble } = methodsOf(AssemblyServiceDefinition);
for (const [session, budget] of JSON.parse(process.argv[3]!) as [string, number][]) {
  const request = contextRequest(session, budget);
  const built = await buildContext(engine.assembly, tenantId, request);
  const streamed: Buffer[] = [];
  const call = { tenantId, signal: new AbortController().signal };
  for await (const response of assembleResponses(engine.assembly, request, call))
    streamed.push(Buffer.concat(encodedResponse(assemble, response)));
  contexts.set(`${session}/${budget}`, {
    whole: Buffer.concat(nested(1, contextPieces(built))),
    streamed,
  });
}

const identity = (bytes: Buffer) => bytes;
const madeFor = ({ metadata }: { readonly metadata: Metadata }) =>
  contexts.get(String(metadata.get("context")[0]))!;
/** The floor: nothing but grpc-js answering with bytes that are there. Which ones is in the request's metadata. */
const preEncoded = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
  callback(null, madeFor(call).whole);
const preEncodedStream = (call: ServerWritableStream<Buffer, Buffer>) => {
  for (const message of madeFor(call).streamed) call.write(message);
  call.end();
};
const asBytes = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: identity,
  requestDeserialize: identity,
  responseSerialize: identity,
  responseDeserialize: identity,
});
const floor = new Server({ "grpc.max_send_message_length": -1 });
floor.addService(
  {
    preEncoded: asBytes("/bench/PreEncoded", false),
    preEncodedStream: asBytes("/bench/PreEncodedStream", true),
  },
  { preEncoded, preEncodedStream },
);
floor.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.send?.({ address: running.addresses[0], floorAddress: `127.0.0.1:${port}` });
});

let before = process.cpuUsage();
process.on("message", async (message) => {
  if (message === "start") {
    before = process.cpuUsage();
    process.send?.({});
  } else if (message === "stop") {
    await engine.assembly.receipts.flush();
    const { user, system } = process.cpuUsage(before);
    process.send?.({ cpuMs: (user + system) / 1_000 });
  } else {
    floor.forceShutdown();
    await running.stop();
    await engine.close();
    process.disconnect();
  }
});
