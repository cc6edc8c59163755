import { defaultPromptTexts } from "../../domain/prompt-texts.js";
import { summaryLimit } from "../plan/summary-limit.js";
import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { anyText } from "./any-text.js";
import { withAsked } from "./asked.js";
import { type Candidate, Cover, costOf } from "./cover.js";
import { fitSummary } from "./fit-summary.js";
import { gatherUnits } from "./gather-units.js";
import { mustKeepLine } from "./must-keep.js";
import { withState } from "./state/with-state.js";
import { weighUnits } from "./weigh-units.js";
import { writeScript } from "./write-groups.js";

const shortestHalfLife = 0.25;

/**
 * Summarizes so that each turn's share of the budget halves with every so many turns of age: the last are told in
 * detail, old ones in a few words or not at all. What a turn does not need goes to the ones before it. The summary
 * before stands for all turns that were ever folded into it.
 */
export function summarizeWithDecay(task: SummaryTask, count: CountTokens, halfLifeTurns: number): string {
  return withAsked(task, count, (asked) =>
    withState(asked, count, (rest, hasState) => chooseByAge(rest, count, halfLifeTurns, hasState)),
  );
}

function chooseByAge(
  task: SummaryTask,
  count: CountTokens,
  halfLifeTurns: number,
  hasState: boolean,
): string {
  const limit = summaryLimit(task, count);
  if (limit <= 0) return "";
  const { texts = defaultPromptTexts } = task;
  const { units, terms } = gatherUnits(task, hasState);
  const weighed = weighUnits(units, terms, task.instructions, count);
  const must = mustKeepLine(task.mustKeep, texts, task.maxTokens, count);
  const room = Math.max(limit - (must === "" ? 0 : count(must) + 1), limit / 4);
  const byTurn = new Map<number, Candidate[]>();
  for (const candidate of weighed.candidates) {
    const turn = byTurn.get(candidate.unit.turn);
    if (turn === undefined) byTurn.set(candidate.unit.turn, [candidate]);
    else turn.push(candidate);
  }
  const cover = new Cover(weighed.worth, weighed.asked);
  const taken: Candidate[] = [];
  let left = 0;
  for (const { turn, share } of shares(task.turns.length, task.previousSummary !== "", halfLifeTurns)) {
    left += room * share;
    const more = take(cover, byTurn.get(turn) ?? [], left);
    taken.push(...more);
    left -= more.reduce((sum, candidate) => sum + costOf(candidate), 0);
  }
  const isTaken = new Set(taken);
  const others = weighed.candidates.filter((candidate) => !isTaken.has(candidate));
  taken.push(...(taken.length === 0 ? others.slice(-1) : take(cover, others, left)));
  const write = (some: readonly Candidate[]) => writeScript(some, texts);
  const chosen = { taken, phrases: [], mustKeep: task.mustKeep, words: texts, write };
  const text = fitSummary(chosen, limit, task.maxTokens, count);
  return text === "" ? anyText(task, limit, count) : text;
}

/** Each turn's share, the newest first; the summary before (turn -1) has what all turns before these would have. */
function shares(turns: number, hasPrevious: boolean, halfLifeTurns: number) {
  const halfLife = Math.max(shortestHalfLife, Number.isNaN(halfLifeTurns) ? 0 : halfLifeTurns);
  const weight = (age: number) => 2 ** (-age / halfLife);
  const weights = Array.from({ length: turns }, (_, age) => ({ turn: turns - 1 - age, weight: weight(age) }));
  const older = Number.isFinite(halfLife) ? weight(turns) / (1 - weight(1)) : turns + 1;
  if (hasPrevious) weights.push({ turn: -1, weight: older });
  const sum = weights.reduce((total, each) => total + each.weight, 0);
  return weights.map((each) => ({ turn: each.turn, share: sum === 0 ? 0 : each.weight / sum }));
}

function take(cover: Cover, candidates: readonly Candidate[], tokens: number): Candidate[] {
  return cover.take(candidates, { all: tokens, tools: tokens, carried: tokens });
}
