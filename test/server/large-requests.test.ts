import { status as Code } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { RecordTurnRequest } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Message } from "../../src/contract/gen/quire/v1/message.js";
import { MessageRole } from "../../src/domain/message.js";
import { assistant, user } from "../support/messages.js";
import { failure } from "../support/server.js";
import { sharedLedger } from "../support/shared-ledger.js";
import { rawUnary } from "./raw-call.js";
import { rawBatches, rawMessages } from "./raw-history.js";

const megabyte = 1024 * 1024;

const { server, ledger } = await sharedLedger();

/** Everything a message can hold that a clone could change: bytes, text of one and of two bytes a letter, empty text. */
function everything(): Message {
  const image = {
    mediaType: "image/png",
    source: { $case: "data" as const, value: Buffer.alloc(900_000, 9) },
  };
  return Message.create({
    role: MessageRole.USER,
    parts: [
      { content: { $case: "text", value: { text: "plain ".repeat(200_000) } } },
      { content: { $case: "text", value: { text: "日本語 𝄞 é\u0000".repeat(100_000) } } },
      { content: { $case: "image", value: image } },
      { content: { $case: "text", value: { text: "" } } },
    ],
  });
}

describe("a request above 1 MB", () => {
  test("is stored as the bytes that its messages are", async () => {
    const { id: session } = await ledger.session();
    const messages = [everything(), user("short")];
    await ledger.recordTurn({
      session,
      messages,
      result: { messages: [assistant("yes ".repeat(megabyte / 2))] },
    });
    const stored = (
      await rawBatches(server.ledger, { thread: { $case: "session", value: session } })
    ).flatMap(rawMessages);
    expect(stored.map(({ message }) => message.parts)).toEqual(
      [...messages, assistant("yes ".repeat(megabyte / 2))].map(({ parts }) => parts),
    );
    for (const { bytes, message } of stored) {
      const encoded = Buffer.from(Message.encode(message).finish());
      expect(bytes.subarray(-encoded.length).equals(encoded)).toBe(true);
    }
  });

  test("that comes again gets its first answer, and another body under its id is refused", async () => {
    const { id: session } = await ledger.session();
    const request = { requestId: "large-1", session, messages: [everything()] };
    const first = await ledger.recordTurn(request);
    expect(await ledger.recordTurn(request)).toEqual(first);
    const other = { ...request, messages: [user("another ".repeat(200_000))] };
    expect((await failure(ledger.recordTurn(other))).reason).toBe("REQUEST_ID_REUSED");
    const small = { ...request, messages: [user("small")] };
    expect((await failure(ledger.recordTurn(small))).reason).toBe("REQUEST_ID_REUSED");
  });

  test("has the hash that it has when it is small: maps in any order, server's fields left out", async () => {
    const { id: session } = await ledger.session();
    const messages = [{ ...everything(), id: "not mine to set", index: 7 }];
    const tags = (pairs: readonly (readonly [string, string])[]) => ({ metadata: Object.fromEntries(pairs) });
    const pairs = [["a", "1"] as const, ["b", "2"] as const];
    const request = { requestId: "large-2", session, messages, details: tags(pairs) };
    const first = await ledger.recordTurn(request);
    const again = { ...request, messages: [everything()], details: tags(pairs.toReversed()) };
    expect(await ledger.recordTurn(again)).toEqual(first);
  });

  test("that is no request, or has text that is not UTF-8, is refused", async () => {
    const whole = RecordTurnRequest.encode(
      RecordTurnRequest.create({ session: "x", messages: [user("y".repeat(2 * megabyte))] }),
    ).finish();
    const badText = Buffer.from(whole);
    badText[badText.length - 100] = 0xff;
    for (const bytes of [badText, whole.subarray(0, whole.length - 1), Buffer.alloc(2 * megabyte, 0xff)]) {
      const { code, message } = await rawUnary(server.address, "RecordTurn", bytes);
      expect([code, message]).toEqual([Code.INVALID_ARGUMENT, "the bytes are no request of RecordTurn"]);
    }
  });

  test("is checked like any other, with all violations", async () => {
    const text = "z".repeat(2 * megabyte);
    const error = await failure(ledger.recordTurn({ session: "", messages: [user(text), user("")] }));
    expect(error).toMatchObject({ code: Code.INVALID_ARGUMENT, reason: "INVALID_FIELD" });
    expect(error.fields).toContain("session");
  });
});
