import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { loadConfig } from "../src/config/load-config.js";
import { LedgerServiceDefinition } from "../src/contract/gen/quire/v1/ledger_service.js";
import { systemClock, systemIds } from "../src/domain/clock.js";
import { createLedger } from "../src/ledger/ledger.js";
import { streamHistory } from "../src/ledger/stream-history.js";
import { Offload } from "../src/offload/offload.js";
import { Admission } from "../src/server/admission/admission.js";
import { streamCall } from "../src/server/call/stream-call.js";
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

const service = new Server();
const at = (name: string) => ({ ...method, path: `/bench/${name}` });
deps.admission.serve(at("Warm"), fromLedger(warm.ledger));
deps.admission.serve(at("Cold"), fromLedger(cold));
const floor = new Server();
floor.addService(
  {
    preEncoded: {
      path: "/bench/PreEncoded",
      requestStream: false,
      responseStream: true,
      requestSerialize: identity,
      requestDeserialize: identity,
      responseSerialize: identity,
      responseDeserialize: identity,
    },
  },
  { preEncoded },
);
const bind = (server: Server) =>
  new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
const [port, floorPort] = [await bind(service), await bind(floor)];
deps.admission.guard(service);
process.send?.({ port, floorPort });

let before = process.cpuUsage();
process.on("message", (message) => {
  if (message === "start") {
    before = process.cpuUsage();
    process.send?.({});
  } else if (message === "stop") {
    const { user, system } = process.cpuUsage(before);
    process.send?.({ cpuMs: (user + system) / 1_000 });
  } else {
    service.forceShutdown();
    floor.forceShutdown();
    deps.admission.close();
    warm.close().then(() => process.disconnect());
  }
});
