import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HistoryView } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../../src/contract/gen/quire/v1/message.js";
import { putAgent } from "../../assembly/agent.js";
import type { WrittenTurn } from "../../assembly/check-context.js";
import { openTestQuire, type TestQuire } from "../../assembly/engine.js";
import { bytesOf, type FoldedContext } from "../../assembly/fold.js";
import { assembleByRules, checkDelta, checkReplay, FloorCounts } from "../../assembly/keep-rules.js";
import { type NextContext, RandomLife } from "../../assembly/random-life.js";
import { foundCompaction } from "../../support/found-turn.js";

const runs = { numRuns: 12, seed: 20_261_116, endOnFailure: true };
const steps = 40;
const floors = new FloorCounts();
let tooLarge = 0;
let longestChain = 0;
let quire: TestQuire;

beforeAll(async () => {
  quire = await openTestQuire();
  await putAgent(quire);
});

afterAll(async () => {
  console.log(
    `random lives: ${floors}; what is open did not fit ${tooLarge} times; longest chain of compactions: ${longestChain}`,
  );
  await quire.close();
});

/** A compaction says of the thread what is so, and stands on one that says less of it. */
async function checkRecord(id: string, thread: readonly WrittenTurn[]): Promise<void> {
  const at = (turnId: string) => thread.findIndex((turn) => turn.id === turnId);
  let later: { readonly summarizedTurns: number; readonly index: number } | undefined;
  let length = 0;
  for (let next = id; next !== ""; length++) {
    const compaction = foundCompaction(await quire.ledger.getTurn({ turnId: next }));
    const { summarizedTurns, firstKeptTurnId, lastSummarizedTurnId, anchorTurnId } = compaction;
    const index = compaction.firstKeptMessageIndex;
    expect(at(anchorTurnId), "it hangs off a turn of the thread").toBeGreaterThanOrEqual(0);
    expect(thread[summarizedTurns]?.id).toBe(firstKeptTurnId);
    expect(thread[summarizedTurns - 1]?.id ?? "").toBe(lastSummarizedTurnId);
    expect(
      at(anchorTurnId),
      "it says nothing of turns after the one that it hangs off",
    ).toBeGreaterThanOrEqual(summarizedTurns);
    if (later) {
      const isLess =
        summarizedTurns < later.summarizedTurns ||
        (summarizedTurns === later.summarizedTurns && index < later.index);
      expect(isLess, "each folds more than the one before").toBe(true);
    }
    later = { summarizedTurns, index };
    next = compaction.previousCompactionId;
  }
  longestChain = Math.max(longestChain, length);
}

async function streamed(session: string, view: HistoryView): Promise<Message[]> {
  const messages: Message[] = [];
  const thread = { $case: "session" as const, value: session };
  for await (const batch of quire.ledger.streamHistory({ thread, view })) messages.push(...batch.messages);
  return messages;
}

/** The effective view is the summary, and then the full view from the first kept message on. */
async function checkViews({ session }: NextContext): Promise<void> {
  const full = await streamed(session.label, HistoryView.FULL);
  const thread = session.thread.map(({ turn }) => turn.id);
  expect([...new Set(full.map(({ turnId }) => turnId))]).toEqual(thread);
  const effective = await streamed(session.label, HistoryView.EFFECTIVE);
  const found = await quire.ledger.getTurn({ turnId: effective[0]?.turnId ?? "" }).catch(() => undefined);
  const compaction = found?.found?.$case === "compaction" ? found.found.value : undefined;
  const from = compaction
    ? full.findIndex(
        ({ turnId, index }) =>
          turnId === compaction.firstKeptTurnId && index === compaction.firstKeptMessageIndex,
      )
    : 0;
  expect(from).toBeGreaterThanOrEqual(0);
  expect(bytesOf(effective.slice(compaction ? 1 : 0))).toBe(bytesOf(full.slice(from)));
}

/** Assembles by every rule, twice: the second time nothing is left to compact, and the history is the same. */
async function checkContext(
  next: NextContext,
  held: FoldedContext | undefined,
): Promise<FoldedContext | undefined> {
  const { context, thread } = next;
  const folded = await assembleByRules(quire, context, thread);
  if (!folded) {
    tooLarge++;
    const isOpen = context.activeTurnId !== "" || next.session.thread.at(-1)!.open.length > 0;
    expect(isOpen, "only what is open may not fit").toBe(true);
    return undefined;
  }
  floors.add(folded);
  if (folded.layer.compactionId !== "") await checkRecord(folded.layer.compactionId, thread);
  await checkReplay(quire, folded);
  if (folded.compaction.some(({ $case }) => $case === "finished")) {
    const again = await assembleByRules(quire, context, thread);
    expect(again!.compaction).toEqual([]);
    expect(bytesOf(again!.history)).toBe(bytesOf(folded.history));
  }
  if (held) await checkDelta(quire, context, held);
  return folded;
}

describe("every context of sessions that are written, forked, moved back and compacted at random", () => {
  test("is valid, on target or says why not, and with what is summarized is the whole thread", async () => {
    await fc.assert(
      fc.asyncProperty(fc.noBias(fc.integer({ min: 0, max: 1_000_000_000 })), async (seed) => {
        const life = new RandomLife(quire, seed);
        const held = new Map<string, FoldedContext>();
        await life.begin();
        for (let left = steps; left > 0; left--) {
          const next = await life.step();
          const { label } = next.session;
          const folded = await checkContext(next, held.get(label));
          if (folded) held.set(label, folded);
          if (next.session.thread.length > 0) await checkViews(next);
        }
      }),
      runs,
    );
    expect(floors.failed).toBe(0);
    expect(longestChain).toBeGreaterThan(4);
  });
});
