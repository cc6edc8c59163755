import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { status as Code, credentials } from "@grpc/grpc-js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { loadConfig } from "../../src/config/load-config.js";
import {
  LedgerServiceClient,
  RecordTurnRequest,
  StreamHistoryRequest,
  TurnScope,
  WatchSessionRequest,
} from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { openEngine } from "../../src/engine.js";
import { serve } from "../../src/server/serve.js";
import { openDatabase as openFile } from "../../src/storage/driver/database-sync.js";
import {
  allTurns,
  type LedgerCalls,
  ledgerCalls,
  pausedHistory,
  readHistory,
} from "../ledger/ledger-calls.js";
import { said } from "../ledger/message-parts.js";
import { memoryCalls } from "../memory/memory-calls.js";
import { user } from "../support/messages.js";
import { failure, wireError } from "../support/server.js";
import { sharedLedger } from "../support/shared-ledger.js";
import { CapturedLog } from "./captured-log.js";
import { startChildServer } from "./child-server.js";
import { rawUnary } from "./raw-call.js";
import { framed, RawConnection } from "./raw-connection.js";
import { rawBatches, rawMessages } from "./raw-history.js";

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;

const { server, ledger } = await sharedLedger();

/** A message of about so many bytes whose tokens need no counting. */
function large(bytes: number): Message {
  const source = { $case: "data" as const, value: Buffer.alloc(bytes, 7) };
  return said(MessageRole.USER, { content: { $case: "image", value: { source, mediaType: "image/png" } } });
}

/** A session of so many turns, each with the same messages. */
async function longSession(calls: LedgerCalls, turns: number, messages: readonly Message[]): Promise<string> {
  const { id } = await calls.session();
  let head = "";
  for (let index = 0; index < turns; index++) head = (await calls.turn(id, head, messages)).id;
  return id;
}

const ofSession = (value: string) => StreamHistoryRequest.create({ thread: { $case: "session", value } });

describe("a stream that nobody reads on", () => {
  /** The parts that startServer puts together, with the reads of the database in sight. */
  async function startObserved() {
    const log = new CapturedLog();
    const flags = { listen: "127.0.0.1:0", database: server.config.database, historyCacheBytes: 0 };
    const config = loadConfig({ env: {}, flags });
    const engine = await openEngine(config, log.logger);
    const reads = vi.spyOn(engine.ledger.threads, "readSegment");
    const running = await serve(config, engine, log.logger);
    const client = new LedgerServiceClient(running.addresses[0]!, credentials.createInsecure());
    onTestFinished(async () => {
      client.close();
      await running.stop();
      await engine.close();
    });
    return { address: running.addresses[0]!, client, log, readCount: () => reads.mock.calls.length };
  }

  /** Gives what still reads its chance: when it is over, hardly anything more is read. No test may count on it. */
  async function settled(readCount: () => number): Promise<void> {
    for (let known = -1; readCount() !== known; ) {
      known = readCount();
      await sleep(150);
    }
  }

  test("holds the server's reads, and a cancellation ends them", async () => {
    const session = await longSession(ledger, 60, [large(megabyte / 2)]);
    const { client, log, readCount } = await startObserved();
    const stream = await pausedHistory(client.streamHistory(ofSession(session)));
    await settled(readCount);
    stream.once("error", () => undefined);
    stream.cancel();
    const line = await log.find((entry) => entry.method === "StreamHistory");
    expect(line).toMatchObject({ reason: "CANCELLED", msg: "call refused" });
    const ended = readCount();
    expect(ended).toBeLessThan(20);

    const { messages } = await readHistory(client.streamHistory(ofSession(session)));
    expect(messages).toHaveLength(60);
    const whole = readCount() - ended;
    expect(whole).toBeGreaterThan(40);
    // The one that was cancelled reads nothing beside the ones that are whole.
    await readHistory(client.streamHistory(ofSession(session)));
    expect(readCount()).toBe(ended + 2 * whole);
  });

  test("ends at its deadline, and so does the work for it", async () => {
    const session = await longSession(ledger, 60, [large(megabyte / 2)]);
    const { client, log, readCount } = await startObserved();
    // A deadline that passed before the call was at work shows nothing.
    for (let deadlineMs = 1_000; readCount() === 0; deadlineMs *= 2) {
      const stream = client.streamHistory(ofSession(session), { deadline: Date.now() + deadlineMs });
      stream.once("data", () => stream.pause());
      const error = await new Promise((resolve) => stream.once("error", resolve));
      expect(wireError(error).code).toBe(Code.DEADLINE_EXCEEDED);
    }
    const line = await log.find((entry) => entry.method === "StreamHistory");
    expect(["DEADLINE_EXCEEDED", "CANCELLED"]).toContain(line.reason);
    const ended = readCount();
    await sleep(150);
    expect(readCount()).toBe(ended);
    expect(ended).toBeLessThan(60);
  });

  test("of a client that neither reads nor resets ends at its deadline", async () => {
    const session = await longSession(ledger, 60, [large(megabyte / 2)]);
    const { address, log } = await startObserved();
    const connection = await RawConnection.open(address);
    onTestFinished(() => connection.close());
    connection
      .start("StreamHistory", { "grpc-timeout": "2S" })
      .end(framed(StreamHistoryRequest.encode(ofSession(session)).finish()));
    const line = await log.find((entry) => entry.method === "StreamHistory");
    expect(line).toMatchObject({ reason: "DEADLINE_EXCEEDED", msg: "call refused" });
  });

  test("of 50 MB holds a few megabytes of the server's memory, and all of it comes when it is read", async () => {
    const child = await startChildServer({ flags: { historyCacheBytes: 0 } });
    onTestFinished(() => child.stop());
    const session = await longSession(ledgerCalls(child.ledger), 170, Array(3).fill(large(100 * kilobyte)));
    // Search takes up what waits to be indexed, so that nothing of it is measured.
    const memory = memoryCalls(child.address);
    await memory.search({ query: "anything" });
    memory.close();
    const held = async () => {
      const { heapUsed, external } = await child.memory();
      return (heapUsed + external) / megabyte;
    };
    const before = await held();
    const stream = await pausedHistory(child.ledger.streamHistory(ofSession(session)));
    let most = 0;
    for (let sample = 0; sample < 5; sample++) {
      await sleep(100);
      most = Math.max(most, (await held()) - before);
    }
    expect(most).toBeLessThan(15);
    const { messages } = await readHistory(stream);
    // The first batch, which was read before, is the summary alone: the first message is larger than a batch.
    expect(messages).toHaveLength(510);
    expect((await held()) - before).toBeLessThan(15);
  });
});

describe("batches", () => {
  const batchBytes = 64 * kilobyte;

  test("have about 64 KB, as many messages as fit", async () => {
    const session = await longSession(ledger, 200, [user("x".repeat(1_000)), user("y".repeat(1_000))]);
    const batches = await rawBatches(server.ledger, ofSession(session));
    const largest = 2_300;
    for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(batchBytes);
    for (const batch of batches.slice(0, -1)) expect(batch.length).toBeGreaterThan(batchBytes - largest);
    expect(batches.flatMap(rawMessages)).toHaveLength(400);
  });

  test("cut a turn that is larger between its messages", async () => {
    const session = await longSession(ledger, 2, Array(100).fill(large(2 * kilobyte)));
    const batches = await rawBatches(server.ledger, ofSession(session));
    for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(batchBytes);
    expect(batches.length).toBeLessThan(10);
    const indexes = batches.flatMap(rawMessages).map(({ message }) => message.index);
    expect(indexes).toEqual([...Array(100).keys(), ...Array(100).keys()]);
  });

  test("hold a message that is larger alone", async () => {
    const messages = [
      user("before"),
      large(200 * kilobyte),
      user("after"),
      large(65 * kilobyte),
      large(70 * kilobyte),
      user("end"),
    ];
    const session = await longSession(ledger, 1, messages);
    const batches = await rawBatches(server.ledger, ofSession(session));
    const counts = batches.map((batch) => rawMessages(batch).map(({ message }) => message.index));
    expect(counts).toEqual([[0], [1], [2], [3], [4], [5]]);
    const alone = await longSession(ledger, 1, [large(300 * kilobyte)]);
    const [summary, only, ...more] = await rawBatches(server.ledger, ofSession(alone));
    expect([rawMessages(summary!).length, rawMessages(only!).length, more.length]).toEqual([0, 1, 0]);
  });
});

describe("a unary call", () => {
  test("whose deadline has passed is not served", async () => {
    const { id } = await ledger.session();
    const request = { session: id, messages: [user("x")] };
    const error = await failure(ledger.recordTurn(request, { deadline: Date.now() - 1 }));
    expect(error.code).toBe(Code.DEADLINE_EXCEEDED);
    expect((await ledger.getSession({ session: id })).session!.depth).toBe(0);
  });

  test("that waits to be written is taken back at its deadline, and its neighbours are written", async () => {
    const { id: session } = await ledger.session();
    const { id: other } = await ledger.session();
    const file = openFile(join(server.folder, "quire.db"));
    onTestFinished(() => file.close());
    file.exec("BEGIN IMMEDIATE");
    const first = ledger.turn(session, "", [user("waits for the lock")]);
    // Calls of one connection arrive in their order: when this one is answered, the write before it has begun.
    await ledger.getSession({ session });
    const request = RecordTurnRequest.create({ session: other, messages: [user("waits in line")] });
    const second = rawUnary(server.address, "RecordTurn", RecordTurnRequest.encode(request).finish(), {
      "grpc-timeout": "200m",
    });
    const third = ledger.turn(other, "", [user("waits, too")]);
    expect((await second).code).toBe(Code.DEADLINE_EXCEEDED);
    file.exec("ROLLBACK");
    expect((await first).depth).toBe(1);
    const written = await third;
    expect(await allTurns(ledger, { session: other, scope: TurnScope.WRITTEN })).toEqual([written]);
  });
});

test("a watch ends at its deadline, not as if its client had gone, where the clock is behind the timers", async () => {
  const { id: session } = await ledger.session();
  const request = WatchSessionRequest.encode(WatchSessionRequest.create({ session })).finish();
  // A timer can run out in the millisecond before its time. This clock has hardly moved by then.
  let nowMs = Date.now();
  const clock = vi.spyOn(Date, "now").mockImplementation(() => nowMs++);
  onTestFinished(() => clock.mockRestore());
  const ended = await rawUnary(server.address, "WatchSession", request, { "grpc-timeout": "500m" });
  expect(ended.code).toBe(Code.DEADLINE_EXCEEDED);
});
