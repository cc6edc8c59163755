import { anyText } from "./any-text.js";
import { type Candidate, Cover, costOf } from "./cover.js";
import { fitSummary } from "./fit-summary.js";
import { gatherUnits } from "./gather-units.js";
import { mustKeepLine } from "./must-keep.js";
import type { CountTokens, SummaryTask } from "./summarizer.js";
import { summaryLimit } from "./summary-limit.js";
import { type Weighed, weighUnits } from "./weigh-units.js";
import { writeGroups } from "./write-groups.js";

const REFILLS = 4;
const REFILL_TOKENS = 10;
/** Below this a summary has no headings and no lists of names. */
const SMALL_TOKENS = 64;
const HEADING_TOKENS = 18;
/** The most of the budget that is set aside for each, before what is left goes to the best of everything. */
const SHARE = {
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
  const limit = summaryLimit(task, count);
  if (limit <= 0) return "";
  const { units, terms } = gatherUnits(task);
  const weighed = weighUnits(units, terms, task.instructions, count);
  const hasHeadings = limit >= SMALL_TOKENS;
  const must = mustKeepLine(task.mustKeep, task.maxTokens, count);
  const room = limit - (must === "" ? 0 : count(must) + 1) - (hasHeadings ? HEADING_TOKENS : 0);
  const choice = new Choice(weighed, Math.max(room, limit / 4));
  choice.chooseAll();
  const write = () =>
    fitSummary(
      {
        taken: choice.taken,
        phrases: hasHeadings ? weighed.phrases : [],
        mustKeep: task.mustKeep,
        write: (taken) => writeGroups(taken, hasHeadings),
      },
      limit,
      task.maxTokens,
      count,
    );
  let text = write();
  for (let round = 0; round < REFILLS; round++) {
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
    this.cover = new Cover(weighed.worth);
  }

  chooseAll(): void {
    this.spend(SHARE.carriedGoals, ({ unit }) => unit.group === "goal" && unit.turn < 0);
    this.spend(SHARE.open, ({ unit }) => unit.group === "open");
    this.spend(SHARE.goals, ({ unit }) => unit.group === "goal" && unit.turn >= 0);
    this.spend(1, () => true);
    const { candidates } = this.weighed;
    if (this.taken.length === 0 && candidates.length > 0)
      this.taken.push(candidates.reduce((best, next) => (next.unit.bonus > best.unit.bonus ? next : best)));
  }

  /** Whether there was more for so many tokens. */
  chooseMore(tokens: number): boolean {
    const before = this.taken.length;
    if (tokens >= REFILL_TOKENS) this.take(tokens, () => true);
    return this.taken.length > before;
  }

  private spend(share: number, isMeant: (candidate: Candidate) => boolean): void {
    const left = this.roomTokens * (1 - SHARE.lists) - this.spent(() => true);
    this.take(Math.min(this.roomTokens * share, left), isMeant);
  }

  private take(all: number, isMeant: (candidate: Candidate) => boolean): void {
    const free = this.weighed.candidates.filter(
      (candidate) => !this.isTaken.has(candidate) && isMeant(candidate),
    );
    const more = this.cover.take(free, {
      all,
      tools: this.roomTokens * SHARE.tools - this.spent(({ unit }) => unit.group === "tool"),
      carried: this.roomTokens * SHARE.carried - this.spent(({ unit }) => unit.turn < 0),
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
