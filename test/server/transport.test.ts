import { once } from "node:events";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { status as Code } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { GetSessionRequest, GetSessionResponse } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { framed as framedMessage } from "../../src/server/transport/framed.js";
import { sharedLedger } from "../support/shared-ledger.js";
import { framed, RawConnection, statusOf } from "./raw-connection.js";

const { server, ledger } = await sharedLedger();

async function raw(): Promise<RawConnection> {
  const connection = await RawConnection.open(server.address);
  onTestFinished(() => connection.close());
  return connection;
}

const getSession = (session: string) =>
  Buffer.from(GetSessionRequest.encode(GetSessionRequest.fromPartial({ session })).finish());

test("transport: a request in pieces of one byte is one request", async () => {
  const { id } = await ledger.session();
  const stream = (await raw()).start("GetSession");
  for (const byte of framed(getSession(id))) stream.write(Buffer.from([byte]));
  stream.end();
  expect((await statusOf(stream)).code).toBe(Code.OK);
});

test("transport: a request may be compressed, in the ways that answers name", async () => {
  const { id } = await ledger.session();
  const connection = await raw();
  const stream = connection.start("GetSession", { "grpc-encoding": "gzip" });
  stream.end(framed(gzipSync(getSession(id)), { compressed: true }));
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const [headers] = await once(stream, "response");
  expect(headers["grpc-accept-encoding"]).toBe("identity,gzip,deflate");
  await once(stream, "end");
  const answer = Buffer.concat(chunks);
  expect(answer.readUInt32BE(1)).toBe(answer.length - 5);
  expect(GetSessionResponse.decode(answer.subarray(5)).session?.id).toBe(id);
});

test("transport: what cannot be unpacked is refused, each with its reason", async () => {
  const connection = await raw();
  const refusal = (encoding: string, message: Buffer) => {
    const stream = connection.start("GetSession", { "grpc-encoding": encoding });
    stream.end(framed(message, { compressed: true }));
    return statusOf(stream);
  };
  expect(await refusal("snappy", getSession("a"))).toMatchObject({
    code: Code.UNIMPLEMENTED,
    message: expect.stringContaining("snappy"),
  });
  expect(await refusal("constructor", getSession("a"))).toMatchObject({ code: Code.UNIMPLEMENTED });
  expect(await refusal("gzip", getSession("a"))).toMatchObject({ code: Code.INTERNAL });
});

test("transport: a request that ends early, none at all, and one that is too large are refused", async () => {
  const connection = await raw();
  const half = connection.start("GetSession");
  half.end(framed(getSession("a"), { declared: 100 }));
  expect(await statusOf(half)).toMatchObject({ code: Code.INVALID_ARGUMENT, reason: "MALFORMED_REQUEST" });
  const none = connection.start("GetSession");
  none.end();
  expect(await statusOf(none)).toMatchObject({ code: Code.INVALID_ARGUMENT, reason: "MALFORMED_REQUEST" });
  const large = connection.start("GetSession");
  large.end(framed(getSession("a"), { declared: 0xffff_ffff }));
  expect(await statusOf(large)).toMatchObject({ code: Code.RESOURCE_EXHAUSTED });
});

test("transport: a deadline that cannot be read is said to be so, and one that passed ends the call with its reason", async () => {
  const connection = await raw();
  const odd = connection.start("GetSession", { "grpc-timeout": "soon" });
  odd.end(framed(getSession("a")));
  expect(await statusOf(odd)).toMatchObject({
    code: Code.INTERNAL,
    message: expect.stringContaining("soon"),
  });
  // Its request never comes.
  const late = connection.start("GetSession", { "grpc-timeout": "1m" });
  expect(await statusOf(late)).toMatchObject({ code: Code.DEADLINE_EXCEEDED, reason: "DEADLINE_EXCEEDED" });
  const never = connection.start("GetSession", { "grpc-timeout": "99999999H" });
  never.end(framed(getSession("nobody")));
  expect(await statusOf(never)).toMatchObject({ code: Code.NOT_FOUND });
});

test("transport: methods that are not there, and what is not gRPC, are answered as gRPC says", async () => {
  const connection = await raw();
  const unknown = connection.start("NoSuchMethod");
  unknown.end(framed(Buffer.alloc(0)));
  expect((await statusOf(unknown)).code).toBe(Code.UNIMPLEMENTED);
  const session = connect(`http://${server.address}`);
  onTestFinished(() => session.destroy());
  const plain = session.request({ ":method": "POST", ":path": "/quire.v1.LedgerService/GetSession" });
  plain.end();
  const [headers] = await once(plain, "response");
  expect(headers[":status"]).toBe(415);
});

test("transport: a message is the same however its pieces are, and memory is used again only when it was given back", () => {
  const pieces = Array.from({ length: 200 }, (_, index) => Buffer.alloc((index * 997) % 20_000, index));
  const whole = Buffer.concat(pieces);
  const prefix = Buffer.from([0, 0, 0, 0, 0]);
  prefix.writeUInt32BE(whole.length, 1);
  const first = framedMessage(pieces, whole.length);
  const second = framedMessage(pieces, whole.length);
  for (const { chunks } of [first, second])
    expect(Buffer.concat(chunks).equals(Buffer.concat([prefix, whole]))).toBe(true);
  first.free();
  const third = framedMessage([Buffer.alloc(8_000, 255), Buffer.alloc(8_000, 255)], 16_000);
  expect(Buffer.concat(second.chunks).equals(Buffer.concat([prefix, whole]))).toBe(true);
  expect(third.chunks.some(({ buffer }) => first.chunks.some((chunk) => chunk.buffer === buffer))).toBe(true);
  expect(Buffer.concat(framedMessage([], 0).chunks)).toEqual(Buffer.alloc(5));
});
