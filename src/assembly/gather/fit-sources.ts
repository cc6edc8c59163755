import { CandidateRule } from "../../contract/gen/quire/v1/assembly.js";
import { BudgetPolicy } from "../../domain/context-settings.js";
import { SourcePosition } from "../../domain/source.js";
import { atLeast, least, type ModelTokens, minus, sumOf } from "../../domain/token-units.js";
import { saysTitle } from "../../sources/says-title.js";
import { addSources, type CurrentStage, type EventDeps, type EventInput } from "../event/current-message.js";
import { type HistoryStage, type OtherTokens, otherTokens } from "../history/history.js";
import type { ContextPlan } from "../plan/plan.js";
import { isStrictTruncate, laneExceeded } from "../plan/strict.js";
import type { SystemStage } from "../system/system.js";
import { aheadCandidates } from "./ahead-candidates.js";
import { sourceInputs } from "./gather.js";
import { type GatheredBlock, type GatheredSource, type GatherStage, nothingGathered } from "./gathered.js";
import { cutBlock, keptCandidate, withDetail } from "./limit-answer.js";

/** The current message with the blocks of sources that there is room for, and what came of all sources. */
export interface FittedSources {
  readonly current: CurrentStage;
  readonly gathered: GatherStage;
}

/**
 * Blocks fill what history left of the room for memory, the highest priority first. Nothing else gives way to them. By STRICT_TRUNCATE the
 * room is the lane's share, and the first block that is over it is cut; by STRICT_FAIL that is an error.
 */
export async function fitSources(
  deps: EventDeps,
  resolved: EventInput,
  plan: ContextPlan,
  others: OtherTokens,
  history: HistoryStage,
  current: CurrentStage,
  sources: readonly GatheredSource[],
  system: SystemStage,
): Promise<FittedSources> {
  if (sources.length === 0) return { current, gathered: nothingGathered };
  const room = roomFor(resolved, plan, others, history);
  const { ahead, inPlace } = byPlace(sources, system, current.message !== undefined);
  const blocks = inPlace.flatMap((source) => source.blocks);
  await requireRoom(deps, resolved, current, blocks, room);
  // What each is shown as, the most important first.
  let kept = await chosen(deps, resolved, blocks, room);
  let fitted = current;
  // What blocks cost together may differ a little from the sum of what each costs.
  for (; kept.size > 0; kept = new Map([...kept].slice(0, -1))) {
    const shown = blocks.flatMap((block) => kept.get(block)?.text ?? []);
    fitted = await addSources(deps, resolved, current, shown);
    if (fitted.sourceTokens <= room) break;
    fitted = current;
  }
  const rule =
    resolved.settings.policy === BudgetPolicy.ELASTIC ? CandidateRule.PRIORITY : CandidateRule.LANE;
  const candidates = inPlace.flatMap((source) => [
    ...source.blocks.map((block) =>
      keptCandidate(SourcePosition.CURRENT, kept.get(block) ?? block, kept.has(block), rule),
    ),
    ...source.dropped,
  ]);
  return {
    current: fitted,
    gathered: {
      sources,
      reports: sources.map(({ report }) => report),
      candidates: [...aheadCandidates(ahead, system), ...candidates],
      inputs: sourceInputs(sources),
    },
  };
}

/** What was recalled for a place before history stands there only where the prefix was written with it; the rest is for the current message. */
function byPlace(
  sources: readonly GatheredSource[],
  { text, lead }: Pick<SystemStage, "lead" | "text">,
  hasCurrent: boolean,
): { readonly ahead: readonly GatheredSource[]; readonly inPlace: readonly GatheredSource[] } {
  const leadTexts = lead.messages.flatMap(({ parts }) =>
    parts.map(({ content }) => (content?.$case === "text" ? content.value.text : "")),
  );
  const isSaid = ({ title }: GatheredBlock) => [text, ...leadTexts].some((said) => saysTitle(said, title));
  const ahead: GatheredSource[] = [];
  const inPlace: GatheredSource[] = [];
  for (const source of sources) {
    const { position } = source.asked.rules;
    if (position === SourcePosition.CURRENT) inPlace.push(source);
    else if (!source.asked.source.isAfterHistory) ahead.push(source);
    else {
      ahead.push({ ...source, blocks: source.blocks.filter(isSaid) });
      const rest = hasCurrent ? source.blocks.filter((block) => !isSaid(block)) : [];
      inPlace.push({ ...source, blocks: rest, dropped: [] });
    }
  }
  return { ahead, inPlace };
}

function roomFor(
  { settings }: EventInput,
  { limits, memoryLane }: ContextPlan,
  others: OtherTokens,
  history: HistoryStage,
): ModelTokens {
  if (settings.policy !== BudgetPolicy.ELASTIC) return memoryLane;
  const left = minus(minus(limits.available, otherTokens(others)), history.tokens);
  return atLeast(least(left, memoryLane), 0);
}

async function requireRoom(
  deps: EventDeps,
  resolved: EventInput,
  current: CurrentStage,
  blocks: readonly GatheredBlock[],
  room: ModelTokens,
): Promise<void> {
  if (resolved.settings.policy !== BudgetPolicy.STRICT_FAIL) return;
  const all = await addSources(
    deps,
    resolved,
    current,
    blocks.map(({ text }) => text),
  );
  if (all.sourceTokens > room) throw laneExceeded("memory", all.sourceTokens, room);
}

/** The blocks that fit, the most important first; among equals those that stand first. Each with what is shown of it. */
async function chosen(
  { counter }: EventDeps,
  resolved: EventInput,
  blocks: readonly GatheredBlock[],
  room: ModelTokens,
): Promise<ReadonlyMap<GatheredBlock, GatheredBlock>> {
  const ranked = blocks.map((block, index) => ({ block, index }));
  ranked.sort((a, b) => b.block.priority - a.block.priority || a.index - b.index);
  const kept = new Map<GatheredBlock, GatheredBlock>();
  for (const { block } of ranked) {
    const left = minus(
      room,
      sumOf([...kept.values()], ({ tokens }) => tokens),
    );
    if (block.tokens <= left) kept.set(block, block);
    else if (isStrictTruncate(resolved) && !block.isWhole) {
      // The ends of lines between blocks may cost a token each.
      const cut = await cutBlock(counter, resolved, block, left - kept.size - 1);
      if (!cut) continue;
      kept.set(block, { ...cut, detail: withDetail(cut, "truncated") });
      break;
    }
  }
  return kept;
}
