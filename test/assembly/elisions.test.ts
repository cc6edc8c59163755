import { describe, expect, test } from "vitest";
import { ElidedContent } from "../../src/contract/gen/quire/v1/assembly.js";
import { Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Quire } from "../../src/index.js";
import { toolCalls, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";
import { contextRequest, exactModel, type PartialContext, putAgent } from "./agent.js";
import { checkBudget, checkFloors, checkPairs } from "./check-context.js";
import { type FoldedContext, fold } from "./fold.js";
import { checkReplay, tokensBesideHistory } from "./keep-rules.js";
import { serveFolder } from "./served-desk.js";

/** A result of so many words. */
function result(callId: string, words: number): Part {
  const content = [{ content: { $case: "text" as const, value: { text: "word ".repeat(words) } } }];
  return { content: { $case: "toolResult", value: { callId, content, isError: false } } };
}

function results(...parts: readonly Part[]): Message {
  return Message.create({ role: MessageRole.TOOL, parts });
}

/** A session over the wire whose one turn holds these messages, which cannot be split, and what it takes to give its history some room. */
async function served(messages: readonly Message[]) {
  const { quire } = await serveFolder(tempFolder());
  await putAgent(quire);
  await quire.ledger.createSession({ label: "loop" });
  const { turn } = await quire.ledger.recordTurn({ session: "loop", messages });
  const context = contextRequest("loop", exactModel);
  const beside = await tokensBesideHistory(quire, context);
  const withRoom = (tokens: number) => ({ ...context, maxContextTokens: beside + tokens });
  return { quire, turnId: turn!.id, withRoom };
}

async function assembled(quire: Quire, context: PartialContext): Promise<FoldedContext> {
  const folded = await fold(quire.assembly.assemble({ context }));
  checkBudget(folded);
  checkPairs(folded.history);
  checkFloors(folded, 3);
  await checkReplay(quire, folded);
  return folded;
}

describe("what was elided", () => {
  test("is named by turn, message, part and call, with tokens before and after, in the stream, the context and the receipt", async () => {
    const { quire, turnId, withRoom } = await served([
      user("Look."),
      toolCalls("a", "b", "c"),
      results(result("a", 8), result("b", 3_000)),
      results(result("c", 900)),
    ]);
    const context = withRoom(200);
    const { layer, history, completed } = await assembled(quire, context);
    const at = { turnId, content: ElidedContent.TOOL_RESULT };
    const elisions = [
      { ...at, messageIndex: 2, partIndex: 1, callId: "b", tokensBefore: 3_001, tokensAfter: 13 },
      { ...at, messageIndex: 3, partIndex: 0, callId: "c", tokensBefore: 901, tokensAfter: 12 },
    ];
    expect(layer).toMatchObject({ elisionCount: 2, elisions });
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: completed.assemblyId });
    expect(receipt!.historyLayer).toEqual(layer);
    const built = await quire.assembly.buildContext({ context });
    expect(built.context!.historyLayer).toEqual(layer);
    // The small result beside the large one is as it was.
    const kept = history.find(({ index }) => index === 2)!.parts[0];
    expect(kept).toEqual(result("a", 8));
  });

  test("is named by its place in the whole turn, of which the beginning is left out", async () => {
    const { quire, withRoom } = await served([
      user("Look."),
      toolCalls("a"),
      results(result("a", 50)),
      toolCalls("b", "c"),
      results(result("b", 900), result("c", 900)),
    ]);
    const { layer } = await assembled(quire, withRoom(1_050));
    expect(layer.splitMessageIndex).toBe(3);
    expect(layer.elisions.map(({ messageIndex, partIndex }) => [messageIndex, partIndex])).toEqual([
      [4, 0],
      [4, 1],
    ]);
  });

  test.each([
    ["in a turn of 500 parallel calls is all named", 500],
    ["in a turn of 700 parallel calls is all counted, and the 512 largest are named", 700],
  ])("%s", async (_, calls) => {
    const ids = Array.from({ length: calls }, (_, index) => `call-${index}`);
    const { quire, withRoom } = await served([
      user("Look."),
      toolCalls(...ids),
      results(...ids.map((id, index) => result(id, 300 + (index % 7)))),
    ]);
    const { layer, completed } = await assembled(quire, withRoom(calls * 20));
    expect(layer.elisionCount).toBeGreaterThan(calls - 10);
    expect(layer.elisions).toHaveLength(Math.min(layer.elisionCount, 512));
    expect(completed.budget!.used!.total).toBeLessThanOrEqual(completed.budget!.available);
  });

  test("of a turn that goes on is named, too", async () => {
    const { quire, withRoom } = await served([user("Hello.")]);
    const { session } = await quire.ledger.getSession({ session: "loop" });
    const begun = await quire.ledger.beginTurn({
      session: "loop",
      parentTurnId: session!.headTurnId,
      messages: [user("Look."), toolCalls("a", "b"), results(result("a", 2_000), result("b", 10))],
    });
    const activeTurnId = begun.turn!.id;
    const { event: _, ...context } = withRoom(200);
    const { layer } = await assembled(quire, { ...context, activeTurnId });
    expect(layer).toMatchObject({ activeTurnId, elisionCount: 1 });
    expect(layer.elisions[0]).toMatchObject({ turnId: activeTurnId, messageIndex: 2, callId: "a" });
    await quire.ledger.completeTurn({ turnId: activeTurnId, status: TurnStatus.FAILED });
  });
});
