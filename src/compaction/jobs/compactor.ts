import { setMaxListeners } from "node:events";
import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { megabyte, textBytes } from "../../domain/memory-size.js";
import { atLeast, minus, plus } from "../../domain/token-units.js";
import { findEffective } from "../../ledger/effective-thread.js";
import { readWindow } from "../../ledger/thread-window.js";
import { type CompactionOutcome, noKey } from "../../storage/ledger/compaction-store.js";
import { summaryCost } from "../../thread/summary-cost.js";
import type { CompactorDeps, RememberedGoal, RememberedGoals } from "./deps.js";
import { asOutcome, type CompactionJob, type JobOutcome } from "./job.js";
import { makeCompaction } from "./make-compaction.js";

/** How long a job may take when nobody waits for it. */
const backgroundLimitMs = 120_000;
/** For so many sessions something is prepared at a time: each holds a window of its thread. The others are compacted when they are due. */
const mostPrepared = 64;

/**
 * Makes compactions, one at a time for a thread: who asks for one that is being made waits for it. A job goes on when those who wait
 * give up, and what it made is there for the next assembly.
 */
export class Compactor implements RememberedGoals {
  private readonly running = new Map<string, Promise<JobOutcome>>();
  /** By session: what is being prepared. */
  private readonly preparing = new Map<string, Promise<void>>();
  private readonly goals: BoundedCache<RememberedGoal>;
  private readonly stopping = new AbortController();

  constructor(
    readonly deps: CompactorDeps,
    private readonly onError: (error: unknown) => void,
    caches: Caches,
  ) {
    this.goals = caches.create<RememberedGoal>("compaction goals", 8 * megabyte, goalBytes);
    // Every job that runs listens to it.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Joins the job for this thread, or begins it. Undefined when it is not done in time; it goes on all the same. What breaks it goes to the log. */
  run(job: CompactionJob, waitMs: number, signal?: AbortSignal): Promise<JobOutcome | undefined> {
    const broken: JobOutcome = {
      kind: "failed",
      reason: "it could not be made; the log says why",
      failures: [],
    };
    const made = this.join(job).catch(() => broken);
    return this.within(made, waitMs, signal);
  }

  /** Waits for what is being prepared for a session, if anything is. */
  async prepared(tenantId: string, sessionId: string, waitMs: number, signal?: AbortSignal): Promise<void> {
    const done = this.preparing.get(`${tenantId}/${sessionId}`);
    if (done) await this.within(done, waitMs, signal);
  }

  /** Waits so long for work that goes on all the same; undefined when it was not done by then. */
  private async within<T>(work: Promise<T>, waitMs: number, signal?: AbortSignal): Promise<T | undefined> {
    let giveUp = (): void => undefined;
    const over = new Promise<undefined>((resolve) => {
      giveUp = () => resolve(undefined);
    });
    const timer = this.deps.timers.after(waitMs, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      signal?.throwIfAborted();
      return await Promise.race([work, over]);
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", giveUp);
      signal?.throwIfAborted();
    }
  }

  private join(job: CompactionJob): Promise<JobOutcome> {
    const { tenantId, session, compaction, activeTurn, head } = job.thread;
    const key = [tenantId, session.id, compaction?.id, head?.id, activeTurn?.id, job.isPrepared].join("/");
    let made = this.running.get(key);
    if (!made) {
      made = this.make(job).finally(() => this.running.delete(key));
      // Who waits hears of it; if nobody waits any more, the log does.
      made.catch(this.report);
      this.running.set(key, made);
    }
    return made;
  }

  private async make(job: CompactionJob): Promise<JobOutcome> {
    const { tenantId, compaction } = job.thread;
    const { compactions } = this.deps.ledger;
    // Whoever read the thread just before another was done with it finds that one here.
    const current = await compactions.latest(tenantId, job.thread);
    if (current && current.id !== compaction?.id) return { kind: "done", row: current };
    return makeCompaction(this.deps, job, this.stopping.signal, async (row, thread) =>
      asOutcome(
        await compactions.write(noKey<CompactionOutcome>(tenantId), row, thread, (outcome) => outcome),
      ),
    );
  }

  /** What ends because everything does is no error. */
  private readonly report = (error: unknown): void => {
    if (!this.stopping.signal.aborted) this.onError(error);
  };

  /** Keeps what an assembly wanted, for a compaction in advance. */
  remember(tenantId: string, sessionId: string, goal: RememberedGoal): void {
    this.goals.set(`${tenantId}/${sessionId}`, goal);
  }

  remembered(tenantId: string, sessionId: string): RememberedGoal | undefined {
    return this.goals.get(`${tenantId}/${sessionId}`);
  }

  /** Forgets what is kept of a session. */
  forget(tenantId: string, sessionId: string): void {
    this.goals.delete(`${tenantId}/${sessionId}`);
  }

  /** A turn was finished: if history is near its limit, its compaction is prepared now. */
  afterTurn(tenantId: string, sessionId: string): void {
    const key = `${tenantId}/${sessionId}`;
    const remembered = this.goals.get(key);
    if (!remembered || remembered.settings.softThreshold >= 1) return;
    if (this.preparing.has(key) || this.preparing.size >= mostPrepared || this.stopping.signal.aborted)
      return;
    const done = this.prepare(tenantId, sessionId, remembered)
      .catch(this.report)
      .finally(() => this.preparing.delete(key));
    this.preparing.set(key, done);
  }

  private async prepare(tenantId: string, sessionId: string, remembered: RememberedGoal): Promise<void> {
    const found = await this.deps.ledger.threads.findThread(tenantId, sessionId);
    if (!found) return;
    const { texts } = await this.deps.templates.current();
    const { goal, settings, clean, vocabulary } = remembered;
    const at = { tenantId, ...found, activeTurn: undefined, texts };
    const thread = { ...(await findEffective(this.deps.ledger, at)), vocabulary };
    const window = await readWindow(this.deps.ledger, thread, clean, goal.roomTokens, goal.keepTurns + 1);
    const tokens = plus(window.tokens, summaryCost(window.compaction).tokens);
    if (tokens < settings.softThreshold * goal.roomTokens) return;
    const { compactions } = this.deps.ledger;
    if (await compactions.prepared(tenantId, thread.segments, thread.compaction)) return;
    // History will have grown by then: what is prepared now must be on target when it is needed.
    const growth = atLeast(minus(goal.roomTokens, tokens), 0);
    await this.join({
      clean,
      settings,
      goal: { ...goal, targetTokens: atLeast(minus(goal.targetTokens, growth), 1) },
      thread,
      trigger: CompactionTrigger.BACKGROUND,
      instructions: "",
      mayAskEngine: false,
      isPrepared: true,
      limitMs: backgroundLimitMs,
    });
  }

  /** Resolves when nothing is being made. */
  async idle(): Promise<void> {
    while (this.preparing.size > 0 || this.running.size > 0) {
      await Promise.allSettled([...this.preparing.values(), ...this.running.values()]);
    }
  }

  /** Stops what is being made. */
  async close(): Promise<void> {
    this.stopping.abort();
    await this.idle();
  }
}

function goalBytes({ settings }: RememberedGoal): number {
  const { summarizers, summarizationModel } = settings;
  return 512 + summarizers.reduce((sum, name) => sum + textBytes(name), textBytes(summarizationModel));
}
