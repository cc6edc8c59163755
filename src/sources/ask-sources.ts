import type { Timers } from "../domain/clock.js";
import type { AskedSource } from "./asked-source.js";
import { Deadline } from "./deadline.js";
import type { ActiveSource, SourceView } from "./source.js";
import type { SourceCalls } from "./source-calls.js";

export interface AskLimits {
  /** The most that any of them may take: what the call has left. */
  readonly mostMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Asks sources, all at once. None of the answers is ever a rejection. */
export function askSources(
  calls: SourceCalls,
  timers: Timers,
  sources: readonly ActiveSource[],
  view: SourceView,
  { mostMs, signal }: AskLimits,
): readonly (Promise<AskedSource> | AskedSource)[] {
  if (sources.length === 0) return [];
  const deadlines = new Deadlines(timers, signal);
  const question = { view, askedMs: performance.now() };
  const met = calls.metBy(view.tenantId);
  const asked = sources.map((active) =>
    calls.ask(active, question, met, deadlines.of(Math.min(active.rules.deadlineMs, mostMs))),
  );
  void deadlines.start();
  return asked;
}

/** What answers without waiting for anything has done so when a few steps have passed, and needs no timer. */
const soonSteps = 8;

/** Sources with the same time share one timer and one signal: most answer long before, and should not pay for more. */
class Deadlines {
  private readonly byMs = new Map<number, Deadline>();

  constructor(
    private readonly timers: Timers,
    private readonly signal: AbortSignal | undefined,
  ) {}

  of(ms: number): Deadline {
    let deadline = this.byMs.get(ms);
    if (!deadline) {
      deadline = new Deadline(ms);
      this.byMs.set(ms, deadline);
    }
    return deadline;
  }

  async start(): Promise<void> {
    for (let step = 0; step < soonSteps; step++) {
      if (!this.areOpen()) break;
      await undefined;
    }
    for (const deadline of this.byMs.values()) deadline.start(this.timers, this.signal);
  }

  private areOpen(): boolean {
    for (const { isOpen } of this.byMs.values()) if (isOpen) return true;
    return false;
  }
}
