import { describe, expect, test } from "vitest";
import { HistoryReplay } from "../../src/contract/gen/quire/v1/assembly.js";
import { CompressionStrategy, PrefixPolicy } from "../../src/contract/gen/quire/v1/context_settings.js";
import { Message } from "../../src/contract/gen/quire/v1/message.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import type { PartialContext } from "./agent.js";
import { change } from "./change.js";
import { bytesOf } from "./fold.js";
import { rules, type SentContext, ttlMs, WarmDesk, warmModel } from "./warm-desk.js";

const mark = (section: string) => `[System prompt update: ${section}]`;
const shown = (sent: SentContext) => JSON.stringify(sent.history);
const told = ({ prefix }: SentContext) =>
  prefix.updates.map(({ section, tokens }) => [section, tokens > 0 ? "now" : "before"]);

/** A session with a turn behind it, whose rules were edited after that. */
async function editedDesk(more: PartialContext = {}) {
  const desk = await WarmDesk.open();
  const first = await desk.turn(more);
  await desk.write({ "AGENTS.md": rules("two") });
  return { desk, first };
}

describe("an edit of a workspace document in a warm session", () => {
  test("leaves the system prompt as it is, byte for byte, and rides as a marked update in the current message", async () => {
    const { desk, first } = await editedDesk();
    const second = await desk.assemble();
    expect(second.system.text).toBe(first.system.text);
    expect(second.completed.hashes!.system.equals(first.completed.hashes!.system)).toBe(true);
    expect(second.context).toContain(mark("workspace_rules"));
    expect(second.context).toContain("-- Edition one.\n+- Edition two.");
    expect(second.context).toContain("[End of update]");
    expect(second.prefix).toMatchObject({
      pinned: true,
      cause: undefined,
      difference: undefined,
      toldTurnId: "",
    });
    expect(told(second)).toEqual([["workspace_rules", "now"]]);
    expect(second.prefix.previousAssemblyId).toBe(first.completed.assemblyId);
    expect(second.prefix.toldTokens).toBe(second.prefix.updates[0]!.tokens);
    expect(await desk.compare(first, second)).toMatchObject({
      extends: true,
      firstDifference: second.prefix.firstDifference,
      changedInputs: [{ name: "AGENTS.md" }],
    });
  });

  test("is told once: history carries it as it was sent, and the receipt says where", async () => {
    const { desk } = await editedDesk();
    const second = await desk.turn();
    const third = await desk.turn();
    expect(third.context).not.toContain("Update");
    expect(shown(third)).toContain("Edition two.");
    expect(third.prefix).toMatchObject({
      pinned: true,
      toldTurnId: second.turnId,
      toldTokens: second.prefix.toldTokens,
    });
    expect(told(third)).toEqual([["workspace_rules", "before"]]);
    expect(await desk.compare(second, third)).toMatchObject({ extends: true });
    const fourth = await desk.assemble();
    expect(fourth.prefix).toMatchObject({ toldTurnId: second.turnId, toldTokens: second.prefix.toldTokens });
    expect(shown(fourth).split("Edition two.").length).toBe(2);
  });

  test("is told again, against the same system prompt, when it is edited again", async () => {
    const { desk, first } = await editedDesk();
    const second = await desk.turn();
    await desk.write({ "AGENTS.md": rules("three") });
    const third = await desk.turn();
    expect(third.system.text).toBe(first.system.text);
    expect(third.context).toContain("+- Edition three.");
    expect(third.context).toContain("-- Edition one.");
    expect(third.prefix.toldTokens).toBe(second.prefix.toldTokens + third.prefix.updates[0]!.tokens);
    expect(third.prefix.toldTurnId).toBe(second.turnId);
  });

  test("is told as taken back when it is edited back, and then no more", async () => {
    const { desk, first } = await editedDesk();
    await desk.turn();
    await desk.write({ "AGENTS.md": rules("one") });
    const third = await desk.turn();
    expect(third.system.text).toBe(first.system.text);
    expect(third.context).toContain(
      `${mark("workspace_rules")}\nThis section reads as in the system prompt again; ignore earlier updates to it.`,
    );
    const fourth = await desk.turn();
    expect(fourth.context).not.toContain("Update");
    expect(fourth.prefix).toMatchObject({ pinned: false, cause: undefined, difference: undefined });
  });

  test("is told as new where the section is, and as gone where the section is", async () => {
    const { desk, first } = await editedDesk();
    await desk.write({ "AGENTS.md": rules("one"), "IDENTITY.md": "Atlas, of the travel desk." });
    const second = await desk.turn();
    expect(second.context).toContain(
      `${mark("agent_identity")}\nThis section is new:\nAtlas, of the travel desk.`,
    );
    await desk.remove("IDENTITY.md", "SOUL.md");
    const third = await desk.turn();
    expect(third.context).toContain(`${mark("soul")}\nThis section no longer applies.`);
    expect(third.context).toContain(`${mark("agent_identity")}\nThis section no longer applies.`);
    expect(third.system.text).toBe(first.system.text);
    expect((await desk.turn()).context).not.toContain("Update");
  });

  test("rides every time where history is clean, for there it is not kept", async () => {
    const replay = HistoryReplay.CLEAN;
    const { desk } = await editedDesk({ replay });
    for (let turn = 0; turn < 3; turn++) {
      const sent = await desk.turn({ replay });
      expect(sent.context).toContain("+- Edition two.");
      expect(told(sent)).toEqual([["workspace_rules", "now"]]);
      expect(shown(sent)).not.toContain("Edition two.");
    }
  });

  test("waits for the next message while a turn is in its tool loop", async () => {
    const { desk, first } = await editedDesk();
    const begun = await desk.assemble();
    const { turn } = await desk.quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: await desk.head(),
      messages: [user("And now?")],
      assemblyId: begun.resolved.assemblyId,
    });
    await desk.write({ "AGENTS.md": rules("three") });
    const inLoop = await desk.assemble({ activeTurnId: turn!.id, event: undefined });
    expect(inLoop.system.text).toBe(first.system.text);
    expect(inLoop.current).toBeUndefined();
    expect(told(inLoop)).toEqual([["workspace_rules", "before"]]);
    await desk.quire.ledger.completeTurn({ turnId: turn!.id, result: { messages: [assistant("Soon.")] } });
    expect((await desk.assemble()).context).toContain("+- Edition three.");
  });
});

test("a new version of the capsule rides as an update of the persona", async () => {
  const desk = await WarmDesk.open();
  const first = await desk.turn();
  await desk.putCapsule("You are Atlas. You help people stay at home.");
  const second = await desk.assemble();
  expect(second.system.text).toBe(first.system.text);
  expect(second.resolved.capsuleVersion).toBe(2);
  expect(second.context).toContain(mark("persona"));
  expect(second.context).toContain("stay at home");
});

describe("what rode along is folded into the system prompt", () => {
  const folded = async (desk: WarmDesk) => {
    const sent = await desk.turn();
    expect(sent.system.text).toContain("Edition two.");
    expect(sent.prefix).toMatchObject({ pinned: false, toldTurnId: "" });
    expect(sent.prefix.updates.filter(({ section }) => section !== "")).toEqual([]);
    expect(sent.context).not.toContain("- Edition");
    return sent;
  };

  test("when the thread was compacted", async () => {
    const { desk } = await editedDesk();
    for (let turn = 0; turn < 6; turn++) await desk.turn();
    await desk.quire.ledger.compact({ session: "desk", keepTurns: 1 });
    const sent = await folded(desk);
    expect(sent.prefix).toMatchObject({
      cause: change("COMPACTION"),
      difference: change("SECTION", "workspace_rules"),
    });
  });

  test("when this very assembly compacts", async () => {
    const { desk } = await editedDesk();
    const long = [user("And now?"), assistant("Soon. ".repeat(100))];
    for (let turn = 0; turn < 6; turn++) await desk.turn({}, { messages: long });
    const settings = { modelLimits: [{ model: warmModel, historyTokens: 1_500 }], keepTurns: 1 };
    const sent = await desk.assemble({ settings });
    expect(sent.layer.compactionId).not.toBe("");
    expect(sent.system.text).toContain("Edition two.");
    expect(sent.prefix).toMatchObject({ pinned: false, cause: change("COMPACTION") });
  });

  test("when the cache has gone cold, and not a moment earlier", async () => {
    const { desk } = await editedDesk();
    await desk.turn();
    desk.wait(ttlMs);
    const warm = await desk.turn();
    expect(warm.prefix.pinned).toBe(true);
    desk.wait(ttlMs + 1);
    const sent = await folded(desk);
    expect(sent.prefix).toMatchObject({ cause: undefined, difference: change("SECTION", "workspace_rules") });
    expect(sent.completed.cachePlan).toMatchObject({ readTokens: 0, missCause: change("TTL_PASSED") });
  });

  test("when carrying it costs more than writing all anew", async () => {
    const { desk } = await editedDesk();
    await desk.write({ "AGENTS.md": rules("two").replaceAll("always", "never") });
    const sent = await folded(desk);
    expect(sent.prefix).toMatchObject({
      cause: change("CARRYING_COSTS_MORE"),
      difference: change("SECTION", "workspace_rules"),
    });
  });

  test("when the turn that carried it is no longer shown", async () => {
    const { desk } = await editedDesk();
    const settings = { compressionStrategy: CompressionStrategy.WINDOW, maxMessages: 8 };
    let sent = await desk.turn({ settings });
    expect(sent.prefix.pinned).toBe(true);
    for (let turn = 0; turn < 6 && sent.prefix.pinned; turn++) {
      sent = await desk.turn({ settings });
      expect(shown(sent).includes("+- Edition two.")).toBe(sent.prefix.pinned);
    }
    expect(sent.system.text).toContain("Edition two.");
    expect(sent.prefix).toMatchObject({ pinned: false, cause: change("CUT") });
  });
});

test("an update is folded in, too, when the turn that carried it is shown only from its middle on", async () => {
  const { desk } = await editedDesk();
  const steps = ["a", "b", "c", "d"].flatMap((callId) => [toolCalls(callId), toolResults(callId)]);
  await desk.turn({}, { messages: [user("And now? ".repeat(200)), ...steps, assistant("Soon.")] });
  const modelLimits = [{ model: warmModel, historyTokens: 400 }];
  const settings = { compressionStrategy: CompressionStrategy.WINDOW, modelLimits };
  const sent = await desk.assemble({ settings });
  expect(sent.layer.splitMessageIndex).toBeGreaterThan(0);
  expect(sent.system.text).toContain("Edition two.");
  expect(sent.prefix).toMatchObject({ pinned: false, cause: change("CUT") });
});

test("a message in history that tells of an earlier edit is taken back when the system prompt is made anew", async () => {
  const { desk } = await editedDesk();
  await desk.turn();
  desk.wait(ttlMs + 1);
  await desk.write({ "AGENTS.md": rules("three") });
  const cold = await desk.turn();
  expect(cold.system.text).toContain("Edition three.");
  expect(shown(cold)).toContain("Edition two.");
  expect(cold.context).toContain("[System prompt update]\nThe system prompt was rebuilt");
  expect(told(cold)).toEqual([["", "now"]]);
  const next = await desk.turn();
  expect(next.context).not.toContain("Update");
  expect(next.prefix).toMatchObject({ pinned: false, updates: [] });
});

describe("LIVE", () => {
  test("of the request makes the system prompt anew each time", async () => {
    const { desk } = await editedDesk();
    const sent = await desk.assemble({ settings: { prefix: PrefixPolicy.LIVE } });
    expect(sent.system.text).toContain("Edition two.");
    expect(sent.context).not.toContain("Update");
    expect(sent.prefix).toMatchObject({ pinned: false, difference: change("SECTION", "workspace_rules") });
  });

  test("of the capsule does, too, and the request is stronger", async () => {
    const desk = await WarmDesk.open({ prefix: PrefixPolicy.LIVE });
    await desk.turn();
    await desk.write({ "AGENTS.md": rules("two") });
    expect((await desk.assemble()).system.text).toContain("Edition two.");
    const stable = await desk.assemble({ settings: { prefix: PrefixPolicy.STABLE } });
    expect(stable.system.text).not.toContain("Edition two.");
  });
});

test("ReplayContext gives the same bytes: the pinned system prompt, and the update in the current message", async () => {
  const { desk } = await editedDesk();
  for (const sent of [await desk.turn(), await desk.turn()]) {
    const { context } = await desk.quire.assembly.replayContext({ assemblyId: sent.completed.assemblyId });
    expect(context!.systemPrompt).toBe(sent.system.text);
    expect(bytesOf(context!.history)).toBe(bytesOf(sent.history));
    const encoded = (message: Message) => Buffer.from(Message.encode(message).finish()).toString("base64");
    expect(encoded(context!.currentMessage!)).toBe(encoded(sent.current!));
  }
});

test("another process on the same database sends the same", async () => {
  const { desk, first } = await editedDesk();
  const second = await desk.turn();
  await desk.restart();
  const third = await desk.assemble();
  expect(third.system.text).toBe(first.system.text);
  expect(third.prefix).toMatchObject({ pinned: true, toldTurnId: second.turnId });
  expect(third.context).not.toContain("Update");
});
