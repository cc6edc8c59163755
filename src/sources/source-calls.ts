import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import type { Clock } from "../domain/clock.js";
import { megabyte, textBytes } from "../domain/memory-size.js";
import { SourceState } from "../domain/source.js";
import type { AskedSource } from "./asked-source.js";
import type { Deadline } from "./deadline.js";
import { MetSource, type SourceHealth } from "./met-source.js";
import type { ActiveSource, SourceAnswer } from "./source.js";
import { answeredWith, type CallKeeper, type Question, SourceCall, unanswered } from "./source-call.js";

interface KeptAnswer {
  readonly answer: SourceAnswer;
  readonly untilMs: number;
}

/** The sources of a tenant by their names. */
type Met = Map<string, MetSource>;

/** Asks single sources, within their time, unless they fail too often; what was answered may be used again. */
export class SourceCalls implements CallKeeper {
  private readonly answers: BoundedCache<KeptAnswer>;
  private readonly met: BoundedCache<Met>;

  constructor(
    private readonly clock: Clock,
    caches: Caches,
    readonly onFailure: (source: string, error: unknown) => void = () => undefined,
  ) {
    this.answers = caches.create<KeptAnswer>("answers of sources", 16 * megabyte, ({ answer }) =>
      answerBytes(answer),
    );
    this.met = caches.create<Met>("sources as they were met", megabyte, (met) => 128 + 512 * met.size);
  }

  health(tenantId: string, name: string): SourceHealth {
    return (this.met.peek(tenantId)?.get(name) ?? new MetSource()).health;
  }

  /** Forgets what is known of a source: it was changed, or is gone. */
  forget(tenantId: string, name: string): void {
    this.met.peek(tenantId)?.delete(name);
    this.answers.deleteWhere((_, key) => key.startsWith(`${tenantId}/${name}/`));
  }

  /** How a tenant's sources were met, for all calls of one question. */
  metBy(tenantId: string): Met {
    const met = this.met.get(tenantId);
    if (met) return met;
    const nobody: Met = new Map();
    this.met.set(tenantId, nobody);
    return nobody;
  }

  ask(
    active: ActiveSource,
    question: Question,
    met: Met,
    deadline: Deadline,
  ): Promise<AskedSource> | AskedSource {
    const { source, rules } = active;
    const { view } = question;
    const asked = rules.cacheSeconds > 0 ? source.cacheKey?.(view) : undefined;
    const cacheKey = asked === undefined ? undefined : `${view.tenantId}/${source.name}/${asked}`;
    if (cacheKey !== undefined) {
      const kept = this.answers.get(cacheKey);
      if (kept && kept.untilMs > this.nowMs()) return answeredWith(active, view.nowMs, kept.answer, 0, true);
    }
    const one = met.get(source.name) ?? this.meet(view.tenantId, source.name, met);
    if (one.breaker.isOpen && !one.breaker.allows(this.nowMs()))
      return unanswered(active, SourceState.SKIPPED, `it failed too often: ${one.lastDetail}`, 0);
    return new SourceCall(this, active, question, one, cacheKey, deadline).make();
  }

  nowMs(): number {
    return this.clock.now();
  }

  keep(key: string, answer: SourceAnswer, seconds: number): void {
    this.answers.set(key, { answer, untilMs: this.nowMs() + seconds * 1_000 });
  }

  private meet(tenantId: string, name: string, met: Met): MetSource {
    const one = new MetSource();
    met.set(name, one);
    // There is more of it now.
    this.met.set(tenantId, met);
    return one;
  }
}

function answerBytes({ blocks }: SourceAnswer): number {
  return blocks.reduce((sum, { content, title, messages = [] }) => {
    const examples = messages.reduce((bytes, { text }) => bytes + 64 + textBytes(text), 0);
    return sum + 256 + textBytes(content) + textBytes(title) + examples;
  }, 256);
}
