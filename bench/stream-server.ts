import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { loadConfig } from "../src/config/load-config.js";
import { LedgerServiceDefinition } from "../src/contract/gen/quire/v1/ledger_service.js";
import { systemClock, systemIds } from "../src/domain/clock.js";
import { createLedger } from "../src/ledger/ledger.js";
import { streamHistory } from "../src/ledger/stream-history.js";
import { Offload } from "../src/offload/offload.js";
import { Admission } from "../src/server/admission/admission.js";
import { streamCall } from "../src/server/call/stream-call.js";
import { grpcMethod } from "../src/server/grpc-service.js";
import { methodsOf } from "../src/server/method.js";
import { createLogger } from "../src/telemetry/logger.js";
import { LedgerFixture, tenantId } from "./ledger-fixture.js";

/**
 * A server of its own for the streaming scenario, so that its CPU is not the client's. One stream comes from the
 * ledger with a warm cache, one from the ledger without a cache, and one is the same batches kept in memory.
 */

const warm = await LedgerFixture.open();
await warm.session("s");
await warm.record("s", "", 5_000, 800);
const cold = createLedger({
  ...warm.ledger,
  database: warm.database,
  historyCacheBytes: 0,
  watchPollMs: 1_000,
});
const command = {
  thread: { $case: "session" as const, value: "s" },
  effective: false,
  afterTurnId: "",
  lastTurns: 0,
};
const batches: Buffer[] = [];
for await (const batch of streamHistory(warm.ledger, tenantId, command)) batches.push(Buffer.concat(batch));

const logger = createLogger("silent");
const deps = {
  logger,
  clock: systemClock,
  ids: systemIds,
  offload: new Offload(1),
  admission: new Admission(loadConfig({ env: {}, flags: {} }), systemClock, logger),
  stopping: new AbortController().signal,
  draining: new AbortController().signal,
};
const identity = (bytes: Buffer) => bytes;
const { streamHistory: method } = methodsOf(LedgerServiceDefinition);
const fromLedger = (ledger: typeof cold) =>
  streamCall(deps, {
    kind: "stream",
    method,
    validate: () => {},
    isEndless: false,
    handle: (_, { signal }) => streamHistory(ledger, tenantId, command, signal),
  });
/** The floor: nothing but grpc-js writing bytes that are there, with the same respect for the reader. */
const preEncoded = async (call: ServerWritableStream<Buffer, Buffer>) => {
  for (const batch of batches) {
    if (!call.write(batch)) await new Promise((resolve) => call.once("drain", resolve));
  }
  call.end();
};

const server = new Server();
server.addService(
  {
    warm: { ...grpcMethod(method), path: "/bench/Warm" },
    cold: { ...grpcMethod(method), path: "/bench/Cold" },
    preEncoded: {
      ...grpcMethod(method),
      path: "/bench/PreEncoded",
      requestDeserialize: identity,
      responseSerialize: identity,
    },
  },
  { warm: fromLedger(warm.ledger), cold: fromLedger(cold), preEncoded },
);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.send?.({ port });
});

let before = process.cpuUsage();
process.on("message", (message) => {
  if (message === "start") {
    globalThis.gc?.();
    before = process.cpuUsage();
    process.send?.({});
  } else if (message === "stop") {
    const { user, system } = process.cpuUsage(before);
    process.send?.({ cpuMs: (user + system) / 1_000 });
  } else {
    server.forceShutdown();
    warm.close().then(() => process.disconnect());
  }
});
