import { describe, expect, test } from "vitest";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { WarningKind } from "../../src/contract/gen/quire/v1/warning.js";
import type { Quire } from "../../src/index.js";
import { refusal, testQuire, text } from "../in-process/quire-fixture.js";
import { anthropicResponses } from "../rendering/responses/anthropic.js";
import { geminiBlocked, geminiResponses } from "../rendering/responses/gemini.js";
import { chatResponses, openaiResponses } from "../rendering/responses/openai.js";
import { recordedTurn } from "../support/found-turn.js";

const { ANTHROPIC_MESSAGES, GEMINI, OPENAI_CHAT, OPENAI_RESPONSES } = BodyFormat;
const hello = [{ role: "MESSAGE_ROLE_USER" as const, parts: [text("Hello.")] }];

function response(format: BodyFormat, body: unknown, candidate = 0) {
  return { format, body: Buffer.from(JSON.stringify(body)), candidate };
}

async function opened(): Promise<Quire> {
  const quire = await testQuire();
  await quire.ledger.createSession({ label: "s" });
  return quire;
}

async function messagesOf(quire: Quire, turnId: string) {
  const { result } = recordedTurn(await quire.ledger.getTurn({ turnId }));
  return result!.messages.map(({ role, parts }) => [
    role.replace("MESSAGE_ROLE_", ""),
    ...parts.map(({ content }) => content!.$case),
  ]);
}

describe("a provider's response is recorded", () => {
  test("RecordTurn: text, stop reason, usage and model; nothing is left open", async () => {
    const quire = await opened();
    const { turn, answer } = await quire.ledger.recordTurn({
      session: "s",
      messages: hello,
      response: response(ANTHROPIC_MESSAGES, anthropicResponses.text),
    });
    expect(turn).toMatchObject({
      status: TurnStatus.COMPLETED,
      stopReason: "end_turn",
      details: { model: "claude-sonnet-5-5", provider: "anthropic" },
      usage: { inputTokens: 1_212, cachedInputTokens: 1_000 },
      modelCallCount: 1,
    });
    expect(answer).toMatchObject({ text: "Good morning.", toolCalls: [], stopReason: "end_turn" });
    expect(await messagesOf(quire, turn!.id)).toEqual([
      ["USER", "text"],
      ["ASSISTANT", "text"],
    ]);
  });

  test("calls make the turn wait, and the next turn begins with their results", async () => {
    const quire = await opened();
    const first = await quire.ledger.recordTurn({
      session: "s",
      messages: hello,
      response: response(OPENAI_RESPONSES, openaiResponses["parallel-calls"]),
    });
    expect(first.turn!.status).toBe(TurnStatus.AWAITING);
    expect(first.answer!.toolCalls.map(({ callId, argumentsJson }) => [callId, argumentsJson])).toEqual([
      ["call_1", '{"q": "Lisbon"}'],
      ["call_2", '{"q":"Porto"}'],
    ]);
    const second = await quire.ledger.recordTurn({
      session: "s",
      parentTurnId: first.turn!.id,
      toolResults: [
        { callId: "call_1", text: "sunny" },
        { callId: "call_2", isError: true, text: "no such city" },
      ],
      response: response(OPENAI_RESPONSES, openaiResponses.text),
    });
    expect(second.turn!.status).toBe(TurnStatus.COMPLETED);
    expect(await messagesOf(quire, second.turn!.id)).toEqual([
      ["TOOL", "toolResult", "toolResult"],
      ["ASSISTANT", "text"],
    ]);
  });

  test("a turn that is written step by step takes responses and results, and its usage is their sum", async () => {
    const quire = await opened();
    const { turn } = await quire.ledger.beginTurn({ session: "s", messages: hello });
    const turnId = turn!.id;
    const called = await quire.ledger.appendMessages({
      turnId,
      response: response(GEMINI, geminiResponses["no-call-ids"]),
    });
    const ids = called.answer!.toolCalls.map(({ callId }) => callId);
    expect(ids).toHaveLength(2);
    expect(ids[0]).toMatch(/^call_[\w-]{22}_1_0$/);
    expect(ids[1]).toBe(ids[0]!.replace(/0$/, "1"));
    await quire.ledger.appendMessages({ turnId, toolResults: ids.map((callId) => ({ callId, text: "ok" })) });
    const done = await quire.ledger.completeTurn({
      turnId,
      response: response(GEMINI, geminiResponses.text),
    });
    expect(done.turn).toMatchObject({
      status: TurnStatus.COMPLETED,
      stopReason: "STOP",
      usage: { inputTokens: 2_424, outputTokens: 80 },
      modelCallCount: 2,
    });
    expect(done.answer!.text).toBe("Good morning.");
  });

  test("a call that was cut off is answered in its place, and waits for nothing", async () => {
    const quire = await opened();
    for (const [format, body] of [
      [ANTHROPIC_MESSAGES, anthropicResponses.truncation],
      [OPENAI_RESPONSES, openaiResponses.truncation],
      [OPENAI_CHAT, chatResponses.truncation],
    ] as const) {
      await quire.ledger.createSession({ label: format });
      const { turn, answer } = await quire.ledger.recordTurn({
        session: format,
        messages: hello,
        response: response(format, body),
      });
      expect(turn).toMatchObject({ status: TurnStatus.COMPLETED, openItems: [] });
      expect(answer!.toolCalls).toEqual([]);
      expect((await messagesOf(quire, turn!.id)).at(-1)).toEqual(["TOOL", "toolResult"]);
    }
  });

  test("an answer without content is a refusal part", async () => {
    const quire = await opened();
    const blocked = [
      [ANTHROPIC_MESSAGES, anthropicResponses.refusal, { reason: "cyber", text: "This is not allowed." }],
      [OPENAI_CHAT, chatResponses.refusal, { reason: "refusal", text: "I cannot help with that." }],
      [GEMINI, geminiResponses.refusal, { reason: "SAFETY", text: "" }],
      [GEMINI, geminiBlocked, { reason: "PROHIBITED_CONTENT", text: "The prompt was blocked." }],
    ] as const;
    let parentTurnId = "";
    for (const [format, body, refused] of blocked) {
      const { turn, answer } = await quire.ledger.recordTurn({
        session: "s",
        parentTurnId,
        messages: hello,
        response: response(format, body),
      });
      parentTurnId = turn!.id;
      expect(answer!.refusal).toMatchObject(refused);
      expect(await messagesOf(quire, turn!.id)).toContainEqual(["ASSISTANT", "refusal"]);
    }
  });

  test("the other answers of a response are a warning", async () => {
    const quire = await opened();
    const { answer, warnings } = await quire.ledger.recordTurn({
      session: "s",
      messages: hello,
      response: response(OPENAI_CHAT, chatResponses["several-candidates"], 1),
    });
    expect(answer!.text).toBe("Tails.");
    expect(warnings.map(({ kind }) => kind)).toEqual([WarningKind.CANDIDATES_LEFT_OUT]);
  });

  test("a repeat under the same request id gives the same answer, and writes nothing more", async () => {
    const quire = await opened();
    const request = {
      requestId: "once",
      session: "s",
      messages: hello,
      response: response(GEMINI, geminiResponses["no-call-ids"]),
    };
    const first = await quire.ledger.recordTurn(request);
    expect(await quire.ledger.recordTurn(request)).toEqual(first);
    const other = { ...request, response: response(GEMINI, geminiResponses.text) };
    expect((await refusal(quire.ledger.recordTurn(other))).reason).toBe("REQUEST_ID_REUSED");
  });

  test("what cannot be read is refused with its place, and nothing is written", async () => {
    const quire = await opened();
    const { turn } = await quire.ledger.beginTurn({ session: "s", messages: hello });
    const bad = response(ANTHROPIC_MESSAGES, { content: [{ type: "tool_use", id: "a", name: "f" }] });
    for (const call of [
      quire.ledger.recordTurn({ session: "s", messages: hello, response: bad }),
      quire.ledger.appendMessages({ turnId: turn!.id, response: bad }),
      quire.ledger.completeTurn({ turnId: turn!.id, response: bad }),
    ]) {
      const { reason, violations, metadata } = await refusal(call);
      expect(reason).toBe("RESPONSE_UNREADABLE");
      expect(violations).toEqual([{ field: "response.body", description: "content[0].input: is missing" }]);
      expect(metadata).toMatchObject({ path: "content[0].input" });
    }
    const { turn: after } = recordedTurn(await quire.ledger.getTurn({ turnId: turn!.id }));
    expect(after).toMatchObject({ status: TurnStatus.OPEN, messageCount: 1 });
  });

  test("results for no open call are refused where they stand", async () => {
    const quire = await opened();
    const toolResults = [{ callId: "nothing", text: "x" }];
    const orphan = await refusal(quire.ledger.recordTurn({ session: "s", toolResults }));
    expect(orphan.reason).toBe("ORPHAN_TOOL_RESULT");
    expect(orphan.violations[0]!.field).toBe("tool_results[0].call_id");
    const twice = await refusal(
      quire.ledger.recordTurn({ session: "s", toolResults: [...toolResults, ...toolResults] }),
    );
    expect(twice.violations[0]!.field).toBe("tool_results[1].call_id");
  });

  test("a large response is read off the event loop, to the same parts", async () => {
    const quire = await opened();
    const words = "wide and long ".repeat(40_000);
    const body = { ...anthropicResponses["server-tools"], padding: words };
    const { turn } = await quire.ledger.recordTurn({
      session: "s",
      messages: hello,
      response: response(ANTHROPIC_MESSAGES, body),
    });
    const { result } = recordedTurn(await quire.ledger.getTurn({ turnId: turn!.id }));
    const [, answered] = result!.messages;
    expect(answered!.parts.map(({ content }) => content!.$case)).toEqual(["opaque", "opaque", "text"]);
    const content = answered!.parts[0]?.content;
    const data = content?.$case === "opaque" ? content.value.data.toString() : "";
    expect(JSON.parse(data)).toEqual(anthropicResponses["server-tools"].content[0]);
  });
});
