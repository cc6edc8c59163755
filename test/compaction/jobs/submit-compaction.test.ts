import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CompactionNeeded, CompactionPlan } from "../../../src/contract/gen/quire/v1/compaction.js";
import { CompressionStrategy } from "../../../src/contract/gen/quire/v1/context_settings.js";
import type { DeepPartial } from "../../../src/contract/gen/quire/v1/message.js";
import type { PartialContext } from "../../assembly/agent.js";
import { assembleChecked, loop, threadOf, tight } from "../../assembly/compacted-session.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { compactionsOf, growSession, longSession } from "../../assembly/long-session.js";
import { assistant, user } from "../../support/messages.js";
import { planSealOf } from "../../support/plan-seal.js";

const summary = "They asked about a parcel by the river, and nobody saw it.";
let quire: TestQuire;
let sessions = 0;

beforeAll(async () => {
  quire = await openTestQuire();
});

afterAll(() => quire.close());

/** Assembles for an engine that makes its own summaries, and gives what it is asked for. */
async function askedOf(context: PartialContext): Promise<CompactionNeeded> {
  const { compaction, layer } = await assembleChecked(quire, context);
  expect(layer.droppedTurns).toBeGreaterThan(0);
  const needed = compaction.at(-1);
  if (needed?.$case !== "needed") throw new Error("no summary was asked for");
  return needed.value;
}

function byEngine(label: string, historyTokens = 600): PartialContext {
  return tight(label, historyTokens, { summarizers: { names: ["engine"] } });
}

async function asked(
  turns = 12,
): Promise<{ label: string; head: string; plan: CompactionPlan; token: string; needed: CompactionNeeded }> {
  const label = `session-${++sessions}`;
  const head = await longSession(quire, label, turns);
  const needed = await askedOf(byEngine(label));
  return { label, head, needed, plan: needed.plan!, token: needed.planToken };
}

const submit = (session: string, planToken: string, text = summary, requestId = "") =>
  quire.ledger.submitCompaction({
    session,
    planToken,
    summary: text,
    requestId,
    model: "some-model",
    provider: "some-provider",
    inputTokens: 900,
    outputTokens: 20,
    durationMs: 7,
  });

/** A plan that the server would not make, with the server's own seal. */
async function sealed(
  label: string,
  plan: CompactionPlan,
  change: DeepPartial<CompactionPlan>,
): Promise<string> {
  const { session } = await quire.ledger.getSession({ session: label });
  return planSealOf(quire.folder).seal(
    "default",
    session!.id,
    CompactionPlan.fromPartial({ ...plan, ...change }),
  );
}

describe("SubmitCompaction", () => {
  test("brings the summary that an assembly asked for, with the conversation in its prompt", async () => {
    const { label, head, plan, token, needed } = await asked();
    expect(plan).toMatchObject({ anchorTurnId: head, previousCompactionId: "", firstKeptMessageIndex: 0 });
    expect(needed.prompt).toContain("Question 1: the parcel left the house");
    expect(needed.systemPrompt).not.toBe("");
    expect(await compactionsOf(quire, label)).toEqual([]);
    const { compaction } = await submit(label, token);
    expect(compaction).toMatchObject({
      summary,
      anchorTurnId: head,
      depth: 12,
      firstKeptTurnId: plan.firstKeptTurnId,
      compressionStrategy: CompressionStrategy.SUMMARY,
      summarizer: "engine",
      model: "some-model",
      provider: "some-provider",
      inputTokens: 900,
      outputTokens: 20,
      durationMs: 7,
      trigger: plan.trigger,
    });
    const after = await assembleChecked(quire, byEngine(label));
    expect(after.compaction).toEqual([]);
    expect(after.layer).toMatchObject({ compactionId: compaction!.id, tokens: compaction!.tokensAfter });
    const thread = await threadOf(quire, label);
    expect(compaction!.summarizedTurns).toBe(thread.findIndex(({ id }) => id === plan.firstKeptTurnId));
  });

  test("is answered once for one request_id", async () => {
    const { label, token } = await asked();
    const first = await submit(label, token, summary, `${label}-1`);
    expect(await submit(label, token, summary, `${label}-1`)).toEqual(first);
  });

  test("takes a plan whose thread has grown since", async () => {
    const { label, head, token } = await asked();
    await growSession(quire, label, [13, 14], head);
    const { compaction } = await submit(label, token);
    expect(compaction).toMatchObject({ anchorTurnId: head, depth: 12 });
    expect((await assembleChecked(quire, byEngine(label, 700))).layer.compactionId).toBe(compaction!.id);
  });

  test("takes the next plan, which stands on the first", async () => {
    const { label, head, token } = await asked();
    const first = await submit(label, token);
    await growSession(quire, label, [13, 22], head);
    const needed = await askedOf(byEngine(label));
    expect(needed.plan!.previousCompactionId).toBe(first.compaction!.id);
    expect(needed.prompt).toContain(summary);
    const { compaction } = await submit(label, needed.planToken, `${summary} Twice.`);
    expect(compaction).toMatchObject({ previousCompactionId: first.compaction!.id });
  });

  test("inside a tool loop hangs off the open turn", async () => {
    const label = `session-${++sessions}`;
    const head = await longSession(quire, label, 2);
    const messages = loop("Look for a seat.", 8);
    const { turn } = await quire.ledger.beginTurn({ session: label, parentTurnId: head, messages });
    const context = { ...byEngine(label, 700), activeTurnId: turn!.id };
    const { plan, planToken } = await askedOf(context);
    expect(plan).toMatchObject({ anchorTurnId: turn!.id, firstKeptTurnId: turn!.id, mustKeep: [] });
    const { compaction } = await submit(label, planToken);
    const inside = await assembleChecked(quire, context);
    expect(inside.layer).toMatchObject({
      compactionId: compaction!.id,
      splitMessageIndex: plan!.firstKeptMessageIndex,
    });
    await quire.ledger.completeTurn({ turnId: turn!.id, result: { messages: [assistant("Row 3.")] } });
    expect((await assembleChecked(quire, byEngine(label, 700))).layer.compactionId).toBe(compaction!.id);
  });
});

describe("SubmitCompaction refuses", () => {
  test.each([
    ["a summary of spaces", "  \n ", "is empty"],
    ["a summary without a word", "...", "has no letter"],
    ["a summary that is over its limit", "the parcel left the house ".repeat(30), "is over its limit"],
  ])("%s", async (_, text, why) => {
    const { label, token } = await asked();
    await expect(submit(label, token, text)).rejects.toMatchObject({
      reason: "SUMMARY_REFUSED",
      metadata: { why: expect.stringContaining(why) },
    });
    expect(await compactionsOf(quire, label)).toEqual([]);
  });

  test("a summary that is not shorter than what it replaces", async () => {
    const { label, plan } = await asked();
    const long = "the parcel left the house ".repeat(200);
    await expect(
      submit(label, await sealed(label, plan, { maxSummaryTokens: 100_000 }), long),
    ).rejects.toMatchObject({
      reason: "SUMMARY_REFUSED",
    });
  });

  const noToken = {
    reason: "INVALID_FIELD",
    violations: [expect.objectContaining({ field: "plan_token" })],
  };

  test("a token that was changed, or that no server gave out", async () => {
    const { label, token } = await asked();
    const bytes = Buffer.from(token, "base64url");
    const changed = Array.from({ length: bytes.length }, (_, at) => {
      const copy = Buffer.from(bytes);
      copy[at]! ^= 1;
      return copy.toString("base64url");
    });
    const invented = ["guess", bytes.subarray(32).toString("base64url"), token.slice(0, -4), `${token}AAAA`];
    for (const wrong of [...changed, ...invented])
      await expect(submit(label, wrong), wrong).rejects.toMatchObject(noToken);
    await expect(submit(label, "")).rejects.toMatchObject(noToken);
    await expect(submit(label, "x".repeat(65_537))).rejects.toMatchObject(noToken);
    expect(await compactionsOf(quire, label)).toEqual([]);
  });

  test("a token that was given out for another session", async () => {
    const one = await asked();
    const other = await asked();
    await expect(submit(one.label, other.token)).rejects.toMatchObject(noToken);
    await quire.ledger.forkSession({ session: one.label, label: `${one.label}-fork` });
    await expect(submit(`${one.label}-fork`, one.token)).rejects.toMatchObject(noToken);
  });

  test("a plan without what must be kept, or with another limit: the caller cannot drop them", async () => {
    const label = `session-${++sessions}`;
    const head = await longSession(quire, label, 1, () => [
      user("TODO: cancel the booking QX-48213 for me."),
      assistant("I will cancel QX-48213."),
    ]);
    await growSession(quire, label, [2, 12], head);
    const { plan, planToken } = await askedOf(byEngine(label));
    const seal = Buffer.from(planToken, "base64url").subarray(0, 32);
    for (const change of [{ mustKeep: [] }, { maxSummaryTokens: 100_000 }]) {
      const bytes = CompactionPlan.encode(CompactionPlan.fromPartial({ ...plan, ...change })).finish();
      const own = Buffer.concat([seal, bytes]).toString("base64url");
      await expect(submit(label, own)).rejects.toMatchObject(noToken);
    }
    await expect(submit(label, planToken)).rejects.toMatchObject({
      reason: "SUMMARY_REFUSED",
      metadata: { why: expect.stringContaining("QX-48213") },
    });
  });

  test("a summary without an identifier of open work", async () => {
    const label = `session-${++sessions}`;
    const head = await longSession(quire, label, 1, () => [
      user("TODO: cancel the booking QX-48213 for me."),
      assistant("I will cancel QX-48213."),
    ]);
    await growSession(quire, label, [2, 12], head);
    const { plan, planToken } = await askedOf(byEngine(label));
    expect(plan!.mustKeep).toContain("QX-48213");
    await expect(submit(label, planToken)).rejects.toMatchObject({ reason: "SUMMARY_REFUSED" });
    const { compaction } = await submit(label, planToken, `${summary} QX-48213 is to be cancelled.`);
    expect(compaction!.summary).toContain("QX-48213");
  });

  const outdated = { reason: "COMPACTION_OUTDATED" };

  test("a plan that another compaction was faster than", async () => {
    const { label, token } = await asked();
    await quire.ledger.compact({ session: label });
    await expect(submit(label, token)).rejects.toMatchObject(outdated);
  });

  test("a plan for a thread that no longer has its turn", async () => {
    const { label, head, token } = await asked();
    const thread = await threadOf(quire, label);
    await quire.ledger.updateSession({ session: label, headTurnId: thread[4]!.id, expectedHeadTurnId: head });
    await expect(submit(label, token)).rejects.toMatchObject(outdated);
  });

  test("a plan for an open turn under a head that has moved", async () => {
    const label = `session-${++sessions}`;
    const head = await longSession(quire, label, 2);
    const messages = loop("Look for a seat.", 8);
    const { turn } = await quire.ledger.beginTurn({ session: label, parentTurnId: head, messages });
    const { planToken } = await askedOf({ ...byEngine(label, 700), activeTurnId: turn!.id });
    await growSession(quire, label, [3, 3], head);
    await expect(submit(label, planToken)).rejects.toMatchObject(outdated);
  });

  test("a place where the thread cannot be cut, or that is not what the plan says it is", async () => {
    const { label, plan } = await asked();
    const [first, , third] = await threadOf(quire, label);
    const wrong: DeepPartial<CompactionPlan>[] = [
      { firstKeptTurnId: first!.id, lastSummarizedTurnId: "" },
      { firstKeptMessageIndex: 9 },
      { lastSummarizedTurnId: third!.id },
      { firstKeptTurnId: plan.anchorTurnId.replace(/.$/, "0") },
    ];
    for (const change of wrong)
      await expect(submit(label, await sealed(label, plan, change))).rejects.toMatchObject(outdated);
  });

  test("a plan that would say something of turns after the one that it hangs off: other threads have other ones there", async () => {
    const { label, plan } = await asked();
    const thread = await threadOf(quire, label);
    const anchorTurnId = thread[2]!.id;
    await expect(submit(label, await sealed(label, plan, { anchorTurnId }))).rejects.toMatchObject(outdated);
  });
});
