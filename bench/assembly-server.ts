import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import { buildContext } from "../src/assembly/build-context.js";
import { AssemblyServiceService } from "../src/contract/gen/quire/v1/assembly_service.js";
import { openEngine } from "../src/engine.js";
import { contextPieces } from "../src/receipts/built-context.js";
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

const contexts = new Map<string, Buffer>();
for (const [session, budget] of JSON.parse(process.argv[3]!) as [string, number][]) {
  const built = await buildContext(engine.assembly, tenantId, contextRequest(session, budget));
  contexts.set(`${session}/${budget}`, Buffer.concat(nested(1, contextPieces(built))));
}

const identity = (bytes: Buffer) => bytes;
/** The floor: nothing but grpc-js answering with bytes that are there. Which ones is in the request's metadata. */
const preEncoded = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) =>
  callback(null, contexts.get(String(call.metadata.get("context")[0]))!);
const floor = new Server({ "grpc.max_send_message_length": -1 });
floor.addService(
  {
    preEncoded: {
      ...AssemblyServiceService.buildContext,
      path: "/bench/PreEncoded",
      requestDeserialize: identity,
      responseSerialize: identity,
    },
  },
  { preEncoded },
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
