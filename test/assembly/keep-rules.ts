import { expect } from "vitest";
import { AssembledContext } from "../../src/contract/gen/quire/v1/assembly.js";
import { type Floor, FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import { type Quire, QuireError } from "../../src/index.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import type { PartialContext } from "./agent.js";
import {
  checkBudget,
  checkFloors,
  checkNoHole,
  checkPairs,
  messageTokens,
  type WrittenTurn,
} from "./check-context.js";
import { bytesOf, type FoldedContext, fold, heldOf } from "./fold.js";

/** How often what is never cut had to give way, and what came of compactions, for the end of the run. */
export class FloorCounts {
  assemblies = 0;
  compactions = 0;
  failed = 0;
  readonly counts = new Map<string, number>();
  readonly ofCompactions = new Map<string, number>();

  add({ completed, compaction }: Pick<FoldedContext, "completed" | "compaction">): void {
    this.assemblies++;
    count(this.counts, completed.floors);
    for (const event of compaction) {
      if (event.$case === "failed") this.failed++;
      if (event.$case !== "finished") continue;
      this.compactions++;
      count(this.ofCompactions, event.value.floors);
    }
  }

  toString(): string {
    return (
      `${this.assemblies} assemblies; floors that gave way: ${listed(this.counts)}; ` +
      `${this.compactions} compactions, ${this.failed} failed; floors that gave way to them: ${listed(this.ofCompactions)}`
    );
  }
}

function count(counts: Map<string, number>, floors: readonly Floor[]): void {
  for (const { kind } of floors) {
    const name = kind.slice("FLOOR_KIND_".length).toLowerCase().replaceAll("_", " ");
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

function listed(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, times]) => `${name} ${times}`).join(", ") || "none";
}

/** What the layers beside history use, from an assembly that has all the room it wants. */
export async function tokensBesideHistory(quire: Quire, context: PartialContext): Promise<number> {
  const { completed } = await fold(quire.assembly.assemble({ context: { ...context, dryRun: true } }));
  const { systemPrompt, tools, event } = completed.budget!.used!;
  return systemPrompt + tools + event;
}

/** Assembles, and checks every rule that can be checked on one context. Undefined where what is open does not fit. */
export async function assembleByRules(
  quire: Quire,
  context: PartialContext,
  thread: readonly WrittenTurn[],
): Promise<FoldedContext | undefined> {
  let folded: FoldedContext;
  try {
    folded = await fold(quire.assembly.assemble({ context }));
  } catch (error) {
    expect(error).toBeInstanceOf(QuireError);
    expect((error as QuireError).reason).toBe("CONTEXT_TOO_LARGE");
    return undefined;
  }
  checkBudget(folded);
  checkPairs(folded.history);
  checkNoHole(folded, thread);
  checkFloors(folded, context.settings?.keepTurns ?? 3);
  checkCompaction(folded);
  expect(folded.current?.parts).toEqual(context.event?.content ?? undefined);
  const { maxMessages } = context.settings ?? {};
  if (maxMessages !== undefined) expect(folded.history.length).toBeLessThanOrEqual(maxMessages);
  return folded;
}

/** What was said of a compaction is in order; and what it made is on target and within its limit, or it says why not. */
export function checkCompaction({ compaction, layer, completed, history }: FoldedContext): void {
  const steps = compaction.map(({ $case }) => $case);
  expect([
    [],
    ["finished"],
    ["started", "finished"],
    ["started", "failed"],
    ["started", "needed"],
  ]).toContainEqual(steps);
  const [started, finished] = [compaction[0], compaction.at(-1)];
  if (finished?.$case !== "finished") return;
  const { id, summaryTokens, tokensAfter, tokensBefore, parameters, floors } = finished.value;
  if (layer.compactionId !== id)
    expect(completed.floors).toContainEqual({ kind: FloorKind.SUMMARY_LEFT_OUT });
  else expect(messageTokens(history[0]!)).toBe(summaryTokens + 4);
  const markTokens = countTokens("[Previous conversation summary]\n", "o200k_base");
  expect(summaryTokens).toBeLessThanOrEqual(Number(parameters.max_summary_tokens) + markTokens);
  expect(tokensAfter).toBeLessThan(tokensBefore);
  if (started?.$case === "started" && floors.length === 0)
    expect(tokensAfter).toBeLessThanOrEqual(started.value.targetTokens);
}

/** The receipt says the same as the stream, and a replay gives the same bytes. */
export async function checkReplay(quire: Quire, folded: FoldedContext): Promise<void> {
  const { receipt } = await quire.assembly.getReceipt({ assemblyId: folded.completed.assemblyId });
  expect(receipt!.floors).toEqual(folded.completed.floors);
  expect(receipt!.hashes).toEqual(folded.completed.hashes);
  const { context } = await quire.assembly.replayContext({ assemblyId: folded.completed.assemblyId });
  expect(bytesOf(context!.history)).toBe(bytesOf(folded.history));
  expect(context!.systemPrompt).toBe(folded.system.text);
  expect(context!.tools).toEqual(folded.tools.tools);
  expect(context!.currentMessage).toEqual(folded.current);
  expect(context!.tokenBudget).toEqual(folded.completed.budget);
  expect(context!.historyLayer).toEqual(folded.layer);
}

/** A context that is put onto the one that is held is the whole context, which is assembled for that where it is not given. */
export async function checkDelta(
  quire: Quire,
  context: PartialContext,
  held: FoldedContext,
  given?: FoldedContext,
): Promise<FoldedContext> {
  const dry = { ...context, dryRun: true };
  const delta = await fold(quire.assembly.assemble({ context: { ...dry, have: heldOf(held) } }), held);
  const whole = given ?? (await fold(quire.assembly.assemble({ context: dry })));
  expect(bytesOf(delta.history)).toBe(bytesOf(whole.history));
  expect(delta.system).toEqual(whole.system);
  expect(delta.tools).toEqual(whole.tools);
  expect(delta.layer).toEqual(whole.layer);
  return delta;
}

/** The whole context as bytes, without its own id. */
export async function contextBytes(quire: Quire, context: PartialContext): Promise<string> {
  const { context: built } = await quire.assembly.buildContext({ context: { ...context, dryRun: true } });
  // How long sources took, and what waits to be indexed meanwhile, is told with them.
  const sources = built!.sources.map((source) => ({ ...source, elapsedUs: 0, detail: "" }));
  return Buffer.from(AssembledContext.encode({ ...built!, assemblyId: "", sources }).finish()).toString(
    "base64",
  );
}
