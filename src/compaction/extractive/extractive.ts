import { defaultPromptTexts } from "../../domain/prompt-texts.js";
import { summaryLimit } from "../plan/summary-limit.js";
import type { CountTokens, SummaryTask } from "../plan/summary-task.js";
import { headingsOf } from "../plan/summary-words.js";
import { anyText } from "./any-text.js";
import { withAsked } from "./asked.js";
import { type Candidate, Cover, costOf } from "./cover.js";
import { fitSummary } from "./fit-summary.js";
import { gatherUnits } from "./gather-units.js";
import { mustKeepLine } from "./must-keep.js";
import { withState } from "./state/with-state.js";
import { type Weighed, weighUnits } from "./weigh-units.js";
import { writeGroups } from "./write-groups.js";

const refills = 4;
const refillTokens = 10;
/** Below this a summary has no headings and no lists of names. */
const smallTokens = 64;
/** What headings cost beside their words, at most. */
const headingTokens = 5;
/** The most of the budget that is set aside for each, before what is left goes to the best of everything. */
const roomShares = {
  open: 0.12,
  carriedGoals: 0.25,
  goals: 0.2,
  tools: 0.25,
  carried: 0.7,
  lists: 0.14,
} as const;

/**
 * Summarizes by choosing sentences: what people want and left open first, then whatever names the most people, things
 * and numbers for its length. The same task always gives the same text, which
 * - costs at most `maxTokens`, and less than what it replaces,
 * - holds every identifier of `mustKeep` for which there is room,
 * - is empty only where there is nothing to summarize, or no room at all.
 */
export function summarizeExtractively(task: SummaryTask, count: CountTokens): string {
  return withAsked(task, count, (asked) =>
    withState(asked, count, (rest, hasState) => chooseSentences(rest, count, hasState)),
  );
}

function chooseSentences(task: SummaryTask, count: CountTokens, hasState: boolean): string {
  const limit = summaryLimit(task, count);
  if (limit <= 0) return "";
  const { texts = defaultPromptTexts } = task;
  const { units, terms } = gatherUnits(task, hasState);
  const weighed = weighUnits(units, terms, task.instructions, count);
  const hasHeadings = limit >= smallTokens;
  const must = mustKeepLine(task.mustKeep, texts, task.maxTokens, count);
  const headings = hasHeadings ? count(Object.values(headingsOf(texts)).join("\n")) + headingTokens : 0;
  const room = limit - (must === "" ? 0 : count(must) + 1) - headings;
  const choice = new Choice(weighed, Math.max(room, limit / 4));
  choice.chooseAll();
  const write = () =>
    fitSummary(
      {
        taken: choice.taken,
        phrases: hasHeadings && !hasState ? weighed.phrases : [],
        mustKeep: task.mustKeep,
        words: texts,
        write: (taken) => writeGroups(taken, texts, hasHeadings),
      },
      limit,
      task.maxTokens,
      count,
    );
  let text = write();
  for (let round = 0; round < refills; round++) {
    if (!choice.chooseMore(limit - count(text) - 2)) break;
    text = write();
  }
  return text === "" ? anyText(task, limit, count) : text;
}

/** What a summary takes, the best first. */
class Choice {
  readonly taken: Candidate[] = [];
  private readonly isTaken = new Set<Candidate>();
  private readonly cover: Cover;

  constructor(
    private readonly weighed: Weighed,
    private readonly roomTokens: number,
  ) {
    this.cover = new Cover(weighed.worth, weighed.asked);
  }

  chooseAll(): void {
    this.spend(roomShares.carriedGoals, ({ unit }) => unit.group === "goal" && unit.turn < 0);
    this.spend(roomShares.open, ({ unit }) => unit.group === "open");
    this.spend(roomShares.goals, ({ unit }) => unit.group === "goal" && unit.turn >= 0);
    this.spend(1, () => true);
    const { candidates } = this.weighed;
    if (this.taken.length === 0 && candidates.length > 0)
      this.taken.push(candidates.reduce((best, next) => (next.unit.bonus > best.unit.bonus ? next : best)));
  }

  /** Whether there was more for so many tokens. */
  chooseMore(tokens: number): boolean {
    const before = this.taken.length;
    if (tokens >= refillTokens) this.take(tokens, () => true);
    return this.taken.length > before;
  }

  private spend(share: number, isMeant: (candidate: Candidate) => boolean): void {
    const left = this.roomTokens * (1 - roomShares.lists) - this.spent(() => true);
    this.take(Math.min(this.roomTokens * share, left), isMeant);
  }

  private take(all: number, isMeant: (candidate: Candidate) => boolean): void {
    const free = this.weighed.candidates.filter(
      (candidate) => !this.isTaken.has(candidate) && isMeant(candidate),
    );
    const more = this.cover.take(free, {
      all,
      tools: this.roomTokens * roomShares.tools - this.spent(({ unit }) => unit.group === "tool"),
      carried: this.roomTokens * roomShares.carried - this.spent(({ unit }) => unit.turn < 0),
    });
    for (const candidate of more) {
      this.taken.push(candidate);
      this.isTaken.add(candidate);
    }
  }

  private spent(isMeant: (candidate: Candidate) => boolean): number {
    return this.taken.reduce((sum, candidate) => sum + (isMeant(candidate) ? costOf(candidate) : 0), 0);
  }
}
