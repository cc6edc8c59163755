import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import type { Clock } from "../domain/clock.js";
import { megabyte, textBytes } from "../domain/memory-size.js";
import { SourceState } from "../domain/source.js";

import type { AskedSource } from "./asked-source.js";
import { Breaker } from "./breaker.js";
import type { Deadline } from "./deadline.js";
import { type ActiveSource, emptyAnswer, type SourceAnswer, type SourceView } from "./source.js";
import { SourceFailure } from "./source-failure.js";

/** What is known of a source from being asked, since this server started. */
export interface SourceHealth {
  readonly calls: number;
  readonly failures: number;
  readonly lastState: SourceState;
  readonly lastDetail: string;
  readonly lastElapsedUs: number;
  /** Whether it is left alone for failing too often. */
  readonly isResting: boolean;
}

interface KeptAnswer {
  readonly answer: SourceAnswer;
  readonly untilMs: number;
}

interface Kept {
  readonly breaker: Breaker;
  health: SourceHealth;
}

const noHealth: SourceHealth = {
  calls: 0,
  failures: 0,
  lastState: SourceState.UNSPECIFIED,
  lastDetail: "",
  lastElapsedUs: 0,
  isResting: false,
};

/** Asks single sources, within their time, unless they fail too often; what was answered may be used again. */
export class SourceCalls {
  private readonly answers: BoundedCache<KeptAnswer>;
  private readonly known: BoundedCache<Kept>;

  constructor(
    private readonly clock: Clock,
    caches: Caches,
    private readonly onFailure: (source: string, error: unknown) => void = () => undefined,
  ) {
    this.answers = caches.create<KeptAnswer>("answers of sources", 16 * megabyte, ({ answer }) =>
      answerBytes(answer),
    );
    this.known = caches.create<Kept>("sources as they were met", megabyte, () => 512);
  }

  health(tenantId: string, name: string): SourceHealth {
    const kept = this.known.peek(`${tenantId}/${name}`);
    return kept ? { ...kept.health, isResting: kept.breaker.isOpen } : noHealth;
  }

  /** Forgets what is known of a source: it was changed, or is gone. */
  forget(tenantId: string, name: string): void {
    this.known.delete(`${tenantId}/${name}`);
    this.answers.deleteWhere((_, key) => key.startsWith(`${tenantId}/${name}/`));
  }

  ask(active: ActiveSource, view: SourceView, deadline: Deadline): Promise<AskedSource> | AskedSource {
    const { source, rules } = active;
    const place = `${view.tenantId}/${source.name}`;
    const question = rules.cacheSeconds > 0 ? source.cacheKey?.(view) : undefined;
    const cacheKey = question === undefined ? undefined : `${place}/${question}`;
    const nowMs = this.clock.now();
    if (cacheKey !== undefined) {
      const kept = this.answers.get(cacheKey);
      if (kept && kept.untilMs > nowMs) return this.answered(active, view, kept.answer, 0, true);
    }
    const kept = this.keptFor(place);
    if (!kept.breaker.allows(nowMs))
      return failed(active, SourceState.SKIPPED, `it failed too often: ${kept.health.lastDetail}`, 0);
    const startedMs = performance.now();
    const elapsedUs = () => Math.round((performance.now() - startedMs) * 1_000);
    const done = (answer: SourceAnswer): AskedSource => {
      if (cacheKey !== undefined)
        this.answers.set(cacheKey, { answer, untilMs: nowMs + rules.cacheSeconds * 1_000 });
      const asked = this.answered(active, view, answer, elapsedUs(), false);
      kept.breaker.worked();
      this.note(kept, asked);
      return asked;
    };
    const wentWrong = (error: unknown): AskedSource => {
      const isKnown = error instanceof SourceFailure;
      if (!isKnown) this.onFailure(source.name, error);
      const detail = isKnown ? error.message : "it failed";
      kept.breaker.failed(this.clock.now());
      const asked = failed(active, SourceState.FAILED, detail, elapsedUs());
      this.note(kept, asked);
      return asked;
    };
    let answer: Promise<SourceAnswer> | SourceAnswer;
    try {
      answer = source.fetch(view, rules, deadline.signal);
    } catch (error) {
      return wentWrong(error);
    }
    if (!(answer instanceof Promise)) return done(answer);
    const pending = answer;
    return new Promise((settle) => {
      const off = deadline.onEnd(() => {
        if (deadline.isGivenUp) kept.breaker.gaveUp();
        else kept.breaker.failed(this.clock.now());
        const asked = failed(
          active,
          SourceState.TIMED_OUT,
          `no answer within ${Math.round(deadline.ms)} ms`,
          elapsedUs(),
        );
        this.note(kept, asked);
        isOver = true;
        settle(asked);
      });
      let isOver = false;
      pending.then(
        (value) => {
          if (isOver) return;
          off();
          settle(done(value));
        },
        (error) => {
          if (isOver) return;
          off();
          settle(wentWrong(error));
        },
      );
    });
  }

  private keptFor(place: string): Kept {
    let kept = this.known.get(place);
    if (!kept) {
      kept = { breaker: new Breaker(), health: noHealth };
      this.known.set(place, kept);
    }
    return kept;
  }

  private note(kept: Kept, { state, detail, elapsedUs }: AskedSource): void {
    const isFailure = state === SourceState.FAILED || state === SourceState.TIMED_OUT;
    const { calls, failures } = kept.health;
    kept.health = {
      calls: calls + 1,
      failures: failures + (isFailure ? 1 : 0),
      lastState: state,
      lastDetail: detail,
      lastElapsedUs: elapsedUs,
      isResting: false,
    };
  }

  /** What has expired is not shown, even if the answer that has it is kept. */
  private answered(
    { source, rules }: ActiveSource,
    { nowMs }: SourceView,
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
}

function failed(active: ActiveSource, state: SourceState, detail: string, elapsedUs: number): AskedSource {
  return { ...active, state, answer: emptyAnswer, detail, elapsedUs, isCached: false };
}

function answerBytes({ blocks }: SourceAnswer): number {
  return blocks.reduce((sum, { content, title, messages = [] }) => {
    const examples = messages.reduce((bytes, { text }) => bytes + 64 + textBytes(text), 0);
    return sum + 256 + textBytes(content) + textBytes(title) + examples;
  }, 256);
}
