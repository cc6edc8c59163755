import { once } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import { gzipSync } from "node:zlib";
import { status as Code, Server, ServerCredentials } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import type { Config } from "../../src/config/options.js";
import {
  GetSessionRequest,
  LedgerServiceDefinition,
  StreamHistoryRequest,
} from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Admission } from "../../src/server/admission/admission.js";
import { methodsOf } from "../../src/server/method.js";
import { ledgerCalls } from "../ledger/ledger-calls.js";
import { user } from "../support/messages.js";
import { startTestServer, type WireError, wireError } from "../support/server.js";
import { CapturedLog } from "./captured-log.js";
import { framed, RawConnection, statusOf } from "./raw-connection.js";

async function start(flags: Partial<Record<keyof Config, unknown>> = {}) {
  const log = new CapturedLog();
  const server = await startTestServer(flags, log.logger);
  onTestFinished(() => server.stop());
  const raw = async () => {
    const connection = await RawConnection.open(server.address);
    onTestFinished(() => connection.close());
    return connection;
  };
  return { server, log, raw, ledger: ledgerCalls(server.ledger) };
}

/** What became of calls that were made at once. */
async function outcomes<T>(calls: readonly Promise<T>[]): Promise<{ answers: T[]; errors: WireError[] }> {
  const answers: T[] = [];
  const errors: WireError[] = [];
  for (const outcome of await Promise.allSettled(calls)) {
    if (outcome.status === "fulfilled") answers.push(outcome.value);
    else errors.push(wireError(outcome.reason));
  }
  return { answers, errors };
}

const getSession = (session: string) =>
  framed(GetSessionRequest.encode(GetSessionRequest.fromPartial({ session })).finish());

/** A request that says how large it is, and does not come. */
function withhold(connection: RawConnection, bytes: number): ClientHttp2Stream {
  const stream = connection.start("RecordTurn");
  stream.write(framed(Buffer.alloc(10), { declared: bytes }));
  return stream;
}

test("a connection that only opens and resets calls is closed, little of it is done, and others are served", async () => {
  const { raw, log, ledger } = await start();
  const { id } = await ledger.session();
  const connection = await raw();
  const closed = new Promise((resolve) => connection.session.once("close", resolve));
  // Of what a client opens faster than it can send, the server never hears: the flood goes on until the connection is closed.
  while (connection.isOpen) {
    for (let index = 0; index < 100 && connection.isOpen; index++) {
      const stream = connection.start("GetSession");
      stream.end(getSession(id));
      // Most are reset in the same breath, others when they are under way, if they are not answered by then.
      if (index % 10 > 0) stream.close(8);
      else setImmediate(() => stream.close(8));
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  expect((await ledger.getSession({ session: id })).session?.id).toBe(id);
  const done = log.lines.filter(({ msg, method }) => msg === "call done" && method === "GetSession");
  // 900 resets are let pass, and a thousand calls may be open.
  expect(done.length).toBeLessThanOrEqual(2_001);
});

test("the log says how many connections were closed that reset too many calls", async () => {
  const { raw, log } = await start();
  const connection = await raw();
  while (connection.isOpen) {
    withhold(connection, 10).close(8);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await log.find(
    ({ level, msg }) => level === "warn" && msg === "connections closed that reset too many calls",
  );
});

test("a client that cancels all its calls at once keeps its connection", async () => {
  const { raw } = await start();
  const connection = await raw();
  const streams = Array.from({ length: 500 }, () => connection.start("GetSession"));
  for (const stream of streams) stream.close(8);
  expect((await connection.seen()).code).toBe(Code.INVALID_ARGUMENT);
});

test("500 calls at once on one connection wait for each other, and all are answered", async () => {
  const { ledger } = await start({ maxConcurrentCalls: 64 });
  const { id } = await ledger.session();
  const { answers, errors } = await outcomes(
    Array.from({ length: 500 }, () => ledger.getSession({ session: id })),
  );
  expect(errors).toEqual([]);
  expect(answers).toHaveLength(500);
});

test("more calls than may wait are refused as SERVER_BUSY, with a time to try again", async () => {
  const { ledger } = await start({ maxConcurrentCalls: 2 });
  const { id } = await ledger.session();
  const { answers, errors } = await outcomes(
    Array.from({ length: 200 }, () => ledger.getSession({ session: id })),
  );
  expect(answers.length + errors.length).toBe(200);
  expect(answers.length).toBeGreaterThan(0);
  expect(errors.length).toBeGreaterThan(0);
  for (const error of errors)
    expect(error).toMatchObject({ code: Code.RESOURCE_EXHAUSTED, reason: "SERVER_BUSY", retry: true });
});

test("of many large requests as many are read as there is room for; small ones are served meanwhile", async () => {
  const megabyte = 1024 * 1024;
  const { server, raw, ledger } = await start({ maxRequestBytes: megabyte, maxBytesInFlight: 4 * megabyte });
  const { id } = await ledger.session();
  const holder = await raw();
  const held = [withhold(holder, megabyte), withhold(holder, megabyte)];
  await holder.seen();

  const text = "large ".repeat(150_000);
  const sessions = await Promise.all(Array.from({ length: 40 }, () => ledger.session()));
  const large = ledgerCalls(server.connect());
  let refused = 0;
  const calls = sessions.map(async (session) => {
    try {
      await large.turn(session.id, "", [user(text)]);
      return true;
    } catch (error) {
      expect(wireError(error)).toMatchObject({
        code: Code.RESOURCE_EXHAUSTED,
        reason: "SERVER_BUSY",
        retry: true,
      });
      refused++;
      return false;
    }
  });
  await expect.poll(() => refused, { timeout: 30_000 }).toBe(38);
  await ledger.turn(id, "", [user("small")]);

  for (const stream of held) stream.close();
  const acknowledged = await Promise.all(calls);
  expect(acknowledged.filter(Boolean)).toHaveLength(2);
  for (const [index, session] of sessions.entries()) {
    const { messages } = await ledger.history({ thread: { $case: "session", value: session.id } });
    const texts = messages.flatMap(({ parts }) =>
      parts.map(({ content }) => (content?.$case === "text" ? content.value.text : "")),
    );
    expect(texts).toEqual(acknowledged[index] ? [text] : []);
  }
});

test("a message that is small only while it is compressed is refused, and takes no more room than a request may", async () => {
  const { raw } = await start({ maxRequestBytes: 1024 * 1024 });
  const connection = await raw();
  const bomb = connection.start("RecordTurn", { "grpc-encoding": "gzip" });
  bomb.end(framed(gzipSync(Buffer.alloc(200 * 1024 * 1024)), { compressed: true }));
  expect(await statusOf(bomb)).toMatchObject({
    code: Code.RESOURCE_EXHAUSTED,
    message: expect.stringContaining("decompresses to a size larger than 1048576"),
  });
  expect((await connection.seen()).code).toBe(Code.INVALID_ARGUMENT);
});

test("bytes after the request are refused before they are read", async () => {
  const { raw } = await start();
  const connection = await raw();
  const stream = connection.start("GetSession");
  stream.write(getSession("somebody"));
  stream.write(framed(Buffer.alloc(10), { declared: 20_000_000 }));
  expect(await statusOf(stream)).toMatchObject({ code: Code.INVALID_ARGUMENT, reason: "MALFORMED_REQUEST" });
});

test("answers that nobody reads are bounded in all; the next ones wait, and then are refused", async () => {
  const { raw, ledger } = await start({ maxBytesInFlight: 256 * 1024 });
  const { id } = await ledger.session();
  await ledger.turn(id, "", [user("x".repeat(100_000))]);
  const request = StreamHistoryRequest.fromPartial({ thread: { $case: "session", value: id } });
  const connection = await raw();
  const read = () => {
    const stream = connection.start("StreamHistory");
    stream.end(framed(StreamHistoryRequest.encode(request).finish()));
    return stream;
  };
  const unread = [read(), read()];
  await Promise.all(unread.map((stream) => once(stream, "response")));

  const waiting = [read(), read(), read()];
  const ended = waiting.map((stream) => statusOf(stream));
  expect(await Promise.race(ended)).toMatchObject({ code: Code.RESOURCE_EXHAUSTED, reason: "SERVER_BUSY" });
  expect((await connection.seen()).code).toBe(Code.INVALID_ARGUMENT);
  for (const stream of unread) stream.close(8);
  const codes = (await Promise.all(ended)).map(({ code }) => code);
  expect(codes.toSorted()).toEqual([Code.OK, Code.OK, Code.RESOURCE_EXHAUSTED]);
});

test("a request that does not come is given up, and its bytes are free again", async () => {
  let nowMs = 1_000_000;
  const limits = {
    maxBytesInFlight: 100_000,
    maxRequestBytes: 100_000,
    maxConcurrentCalls: 10,
    maxConnections: 10,
  };
  const admission = new Admission(limits, { now: () => nowMs }, new CapturedLog().logger);
  onTestFinished(() => admission.close());
  const server = new Server();
  admission.serve(methodsOf(LedgerServiceDefinition).recordTurn, (call) =>
    call.end({ code: Code.UNIMPLEMENTED, details: "nobody is here" }),
  );
  onTestFinished(() => server.forceShutdown());
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, chosen: number) => (error ? reject(error) : resolve(chosen));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), bound);
  });
  admission.guard(server);
  const connection = await RawConnection.open(`127.0.0.1:${port}`);
  onTestFinished(() => connection.close());

  const silent = connection.start("RecordTurn");
  const slow = withhold(connection, 100_000);
  const waits = connection.start("RecordTurn");
  waits.end(framed(Buffer.alloc(90_000)));
  const answered = statusOf(waits);
  const ended = [statusOf(silent), statusOf(slow)];
  // Those that were opened before it have reached the server when it is refused.
  const refused = connection.start("RecordTurn");
  refused.end(framed(Buffer.alloc(90_000)));
  expect(await statusOf(refused)).toMatchObject({ reason: "SERVER_BUSY" });
  nowMs += 31_000;
  for (const status of await Promise.all(ended)) expect(status.reason).toBe("DEADLINE_EXCEEDED");
  slow.close();
  expect((await answered).code).toBe(Code.UNIMPLEMENTED);
});
