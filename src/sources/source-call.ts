import { SourceState } from "../domain/source.js";
import type { AskedSource } from "./asked-source.js";
import type { Deadline, Timed } from "./deadline.js";
import type { MetSource } from "./met-source.js";
import { type ActiveSource, emptyAnswer, type SourceAnswer, type SourceView } from "./source.js";
import { SourceFailure } from "./source-failure.js";

/** What sources are asked, all at once. */
export interface Question {
  readonly view: SourceView;
  /** When it was asked, by `performance.now`. */
  readonly askedMs: number;
}

/** What a call needs of those who make it. */
export interface CallKeeper {
  nowMs(): number;
  keep(key: string, answer: SourceAnswer, seconds: number): void;
  onFailure(source: string, error: unknown): void;
}

/** One call of a source: it ends with the answer or with its time, whichever is first. What comes later changes nothing. */
export class SourceCall implements Timed {
  private settle: ((asked: AskedSource) => void) | undefined;

  constructor(
    private readonly keeper: CallKeeper,
    private readonly active: ActiveSource,
    private readonly question: Question,
    private readonly met: MetSource,
    private readonly cacheKey: string | undefined,
    private readonly deadline: Deadline,
  ) {}

  make(): Promise<AskedSource> | AskedSource {
    const { source, rules } = this.active;
    let answer: Promise<SourceAnswer> | SourceAnswer;
    try {
      answer = source.fetch(this.question.view, rules, this.deadline);
    } catch (error) {
      return this.failed(error);
    }
    if (!(answer instanceof Promise)) return this.answered(answer);
    const pending = answer;
    return new Promise((settle) => {
      this.settle = settle;
      this.deadline.watch(this);
      pending.then(
        (value) => this.settle && this.over(this.answered(value)),
        (error) => this.settle && this.over(this.failed(error)),
      );
    });
  }

  timeOut(isGivenUp: boolean): void {
    if (!this.settle) return;
    const { breaker } = this.met;
    // That a call was given up is no fault of the source.
    if (isGivenUp) breaker.gaveUp();
    else breaker.failed(this.keeper.nowMs());
    const detail = `no answer within ${Math.round(this.deadline.ms)} ms`;
    this.over(this.noted(unanswered(this.active, SourceState.TIMED_OUT, detail, this.elapsedUs())));
  }

  private over(asked: AskedSource): void {
    this.settle!(asked);
    this.settle = undefined;
    this.deadline.done();
  }

  private answered(answer: SourceAnswer): AskedSource {
    const { view } = this.question;
    const asked = answeredWith(this.active, view.nowMs, answer, this.elapsedUs(), false);
    if (this.cacheKey !== undefined) this.keeper.keep(this.cacheKey, answer, this.active.rules.cacheSeconds);
    this.met.breaker.worked();
    return this.noted(asked);
  }

  private failed(error: unknown): AskedSource {
    const isKnown = error instanceof SourceFailure;
    if (!isKnown) this.keeper.onFailure(this.active.source.name, error);
    this.met.breaker.failed(this.keeper.nowMs());
    const detail = isKnown ? error.message : "it failed";
    return this.noted(unanswered(this.active, SourceState.FAILED, detail, this.elapsedUs()));
  }

  private noted(asked: AskedSource): AskedSource {
    this.met.note(asked);
    return asked;
  }

  private elapsedUs(): number {
    return Math.round((performance.now() - this.question.askedMs) * 1_000);
  }
}

/** What has expired is not shown, even if the answer that has it is kept. */
export function answeredWith(
  { source, rules }: ActiveSource,
  nowMs: number,
  given: SourceAnswer,
  elapsedUs: number,
  isCached: boolean,
): AskedSource {
  const isFresh = given.blocks.every(({ expiresMs }) => expiresMs === undefined || expiresMs > nowMs);
  const answer = isFresh
    ? given
    : { ...given, blocks: given.blocks.filter(({ expiresMs = nowMs + 1 }) => expiresMs > nowMs) };
  const state = answer.blocks.length > 0 ? SourceState.OK : SourceState.EMPTY;
  // Field by field: to spread the source's own takes longer than all the rest.
  return { source, rules, state, answer, detail: answer.detail ?? "", elapsedUs, isCached };
}

export function unanswered(
  { source, rules }: ActiveSource,
  state: SourceState,
  detail: string,
  elapsedUs: number,
): AskedSource {
  return { source, rules, state, answer: emptyAnswer, detail, elapsedUs, isCached: false };
}
