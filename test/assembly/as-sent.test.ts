import { describe, expect, test } from "vitest";
import { HistoryReplay } from "../../src/contract/gen/quire/v1/assembly.js";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { failure } from "../support/server.js";
import { checkPairs } from "./check-context.js";
import { bytesOf, fold, heldOf } from "./fold.js";
import { type ServedDesk, serveDesk } from "./served-desk.js";
import { deskRequest } from "./travel-desk.js";

const context = { ...deskRequest, capsule: "atlas" };

async function headOf({ quire }: ServedDesk): Promise<string> {
  return (await quire.ledger.getSession({ session: "desk" })).session!.headTurnId;
}

/** What a provider is sent for a message. */
function sent({ contextParts, parts }: Message) {
  return [...contextParts, ...parts];
}

describe("a turn that names its assembly", () => {
  async function answered(desk: ServedDesk) {
    const before = await fold(desk.quire.assembly.assemble({ context }));
    const assemblyId = before.resolved.assemblyId;
    const messages = [
      { ...before.current!, contextParts: [], contextJson: "" },
      assistant("Both are booked."),
    ];
    await desk.quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: await headOf(desk),
      messages,
      assemblyId,
    });
    return before;
  }

  test("keeps what was sent, and history replays it as it was sent", async () => {
    const desk = await serveDesk();
    const before = await answered(desk);
    const after = await fold(desk.quire.assembly.assemble({ context }));
    const length = before.history.length;
    expect(bytesOf(after.history.slice(0, length))).toBe(bytesOf(before.history));
    const replayed = after.history[length]!;
    expect(sent(replayed)).toEqual(sent(before.current!));
    expect(replayed.contextJson).toBe(before.current!.contextJson);
    expect(JSON.parse(replayed.contextJson)).toMatchObject({
      system: {
        persona: { capsule: "atlas", version: 1 },
        documents: [{ path: "AGENTS.md" }, {}, {}, {}],
        environment: { capabilityCount: 3 },
      },
      event: { id: "event-7", platform: "slack", hooks: ["weather"] },
      attachments: [{ path: "ticket.pdf", firstLine: 3, lastLine: 9 }],
    });
  });

  test("is replayed without it where CLEAN is asked for", async () => {
    const desk = await serveDesk();
    const before = await answered(desk);
    const clean = await fold(
      desk.quire.assembly.assemble({ context: { ...context, replay: HistoryReplay.CLEAN } }),
    );
    const replayed = clean.history[before.history.length]!;
    expect(sent(replayed)).toEqual(before.current!.parts);
    expect(clean.layer.tokens).toBeLessThan(
      (await fold(desk.quire.assembly.assemble({ context }))).layer.tokens,
    );
    const { context: again } = await desk.quire.assembly.replayContext({
      assemblyId: clean.completed.assemblyId,
    });
    expect(bytesOf(again!.history)).toBe(bytesOf(clean.history));
  });
});

describe("an active turn", () => {
  test("comes last, with all its messages, and without an event; the rest of history is reused", async () => {
    const desk = await serveDesk();
    const held = await fold(desk.quire.assembly.assemble({ context }));
    const messages = [user("Where is my bag?"), toolCalls("call-9"), toolResults("call-9")];
    const { turn } = await desk.quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: await headOf(desk),
      messages,
    });
    const active = { ...context, event: undefined, activeTurnId: turn!.id, have: heldOf(held) };
    const folded = await fold(desk.quire.assembly.assemble({ context: active }), held);
    expect(folded.sentMessages).toBe(3);
    expect(bytesOf(folded.history.slice(0, held.history.length))).toBe(bytesOf(held.history));
    expect(folded.history.slice(-3).map(({ turnId, index }) => [turnId, index])).toEqual(
      [0, 1, 2].map((index) => [turn!.id, index]),
    );
    expect(folded.layer).toMatchObject({ activeTurnId: turn!.id, activeMessageCount: 3 });
    expect(folded.current).toBeUndefined();
    await desk.quire.ledger.appendMessages({ turnId: turn!.id, messages: [assistant("It is late.")] });
    const { context: again } = await desk.quire.assembly.replayContext({
      assemblyId: folded.completed.assemblyId,
    });
    expect(bytesOf(again!.history)).toBe(bytesOf(folded.history));
  });

  test("whose calls are not all answered yet is given results that say so, the same in a replay", async () => {
    const desk = await serveDesk();
    const messages = [user("Where is my bag?"), toolCalls("call-8", "call-9"), toolResults("call-8")];
    const { turn } = await desk.quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: await headOf(desk),
      messages,
    });
    const folded = await fold(
      desk.quire.assembly.assemble({ context: { ...context, activeTurnId: turn!.id } }),
    );
    checkPairs(folded.history);
    await desk.quire.ledger.appendMessages({ turnId: turn!.id, messages: [toolResults("call-9")] });
    const { context: again } = await desk.quire.assembly.replayContext({
      assemblyId: folded.completed.assemblyId,
    });
    expect(bytesOf(again!.history)).toBe(bytesOf(folded.history));
  });

  test("without messages changes nothing", async () => {
    const desk = await serveDesk();
    const { turn } = await desk.quire.ledger.beginTurn({ session: "desk", parentTurnId: await headOf(desk) });
    const folded = await fold(
      desk.quire.assembly.assemble({ context: { ...context, activeTurnId: turn!.id } }),
    );
    expect(folded.layer).toMatchObject({ activeTurnId: "", turns: 3 });
    expect(folded.completed.floors).toEqual([]);
  });

  test("must be open, and under the session's head", async () => {
    const desk = await serveDesk();
    const headTurnId = await headOf(desk);
    const call = (activeTurnId: string) =>
      failure(desk.quire.assembly.buildContext({ context: { ...context, activeTurnId } }));
    expect(await call(headTurnId)).toMatchObject({ reason: "TURN_NOT_OPEN" });
    const { turn } = await desk.quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: headTurnId,
      messages: [user("a")],
    });
    await desk.quire.ledger.recordTurn({ session: "desk", parentTurnId: headTurnId, messages: [user("b")] });
    expect(await call(turn!.id)).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["context.active_turn_id"],
    });
  });
});
