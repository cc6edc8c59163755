import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { loadConfig } from "../src/config/load-config.js";
import {
  LedgerServiceService,
  StreamHistoryRequest,
  StreamHistoryResponse,
} from "../src/contract/gen/quire/v1/ledger_service.js";
import { systemClock, systemIds } from "../src/domain/clock.js";
import { createLedger } from "../src/ledger/ledger.js";
import { streamHistory } from "../src/ledger/stream-history.js";
import { Offload } from "../src/offload/offload.js";
import { Admission } from "../src/server/admission/admission.js";
import { serverStream } from "../src/server/call.js";
import { method } from "../src/server/method.js";
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
const { streamHistory: definition } = LedgerServiceService;
const fromLedger = (ledger: typeof cold) =>
  serverStream<StreamHistoryRequest, StreamHistoryResponse>(
    deps,
    "Bench",
    () => {},
    (_, { signal }) => streamHistory(ledger, tenantId, command, signal),
    false,
  );
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
    warm: { ...method(definition, StreamHistoryRequest, StreamHistoryResponse), path: "/bench/Warm" },
    cold: { ...method(definition, StreamHistoryRequest, StreamHistoryResponse), path: "/bench/Cold" },
    preEncoded: {
      ...definition,
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
