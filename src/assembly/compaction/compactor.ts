import { setTimeout as sleep } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Clock, Ids } from "../../domain/clock.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import { type CompactionOutcome, noKey } from "../../storage/ledger/compaction-store.js";
import type { SummarizerSet } from "../../summarizers/summarizer-set.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { summaryCost } from "../history.js";
import { findEffective, readWindow } from "../thread-window.js";
import { asOutcome, type CompactionJob, type JobOutcome } from "./job.js";
import { makeCompaction } from "./make-compaction.js";

/** What compactions are made with. */
export interface CompactorDeps {
  readonly ledger: LedgerDeps;
  readonly summarizers: SummarizerSet;
  readonly summaryTemplate: string;
  readonly counter: TokenCounter;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What an assembly wanted of a session's history: after the next turn it will want about the same. */
export type RememberedGoal = Pick<CompactionJob, "goal" | "clean" | "settings">;

/** How long a job may take when nobody waits for it. */
const backgroundLimitMs = 120_000;

/**
 * Makes compactions, one at a time for a thread: who asks for one that is being made waits for it. A job goes on when those who wait
 * give up, and what it made is there for the next assembly.
 */
export class Compactor {
  private readonly running = new Map<string, Promise<JobOutcome>>();
  private readonly background = new Set<Promise<void>>();
  private readonly goals = new LRUCache<string, RememberedGoal>({ max: 10_000 });
  private readonly stopping = new AbortController();

  constructor(
    readonly deps: CompactorDeps,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Joins the job for this thread, or begins it. Undefined when it is not done in time; it goes on all the same. */
  async run(job: CompactionJob, waitMs: number, signal?: AbortSignal): Promise<JobOutcome | undefined> {
    const made = this.join(job);
    const timer = new AbortController();
    const gone = signal ? AbortSignal.any([signal, timer.signal]) : timer.signal;
    try {
      return await Promise.race([made, sleep(waitMs, undefined, { signal: gone }).catch(() => undefined)]);
    } finally {
      timer.abort();
      signal?.throwIfAborted();
    }
  }

  private join(job: CompactionJob): Promise<JobOutcome> {
    const { tenantId, session, compaction, activeTurn, head } = job.thread;
    const key = [tenantId, session.id, compaction?.id, head?.id, activeTurn?.id, job.isPrepared].join("/");
    let made = this.running.get(key);
    if (!made) {
      const { compactions } = this.deps.ledger;
      made = makeCompaction(this.deps, job, this.stopping.signal, async (row, thread) =>
        asOutcome(
          await compactions.write(noKey<CompactionOutcome>(tenantId), row, thread, (outcome) => outcome),
        ),
      ).finally(() => this.running.delete(key));
      // Who waits hears of it; if nobody waits any more, the log does.
      made.catch(this.onError);
      this.running.set(key, made);
    }
    return made;
  }

  /** Keeps what an assembly wanted, for a compaction in advance. */
  remember(tenantId: string, sessionId: string, goal: RememberedGoal): void {
    this.goals.set(`${tenantId}/${sessionId}`, goal);
  }

  remembered(tenantId: string, sessionId: string): RememberedGoal | undefined {
    return this.goals.get(`${tenantId}/${sessionId}`);
  }

  /** A turn was finished: if history is near its limit, its compaction is prepared now. */
  afterTurn(tenantId: string, sessionId: string): void {
    const remembered = this.remembered(tenantId, sessionId);
    if (!remembered || remembered.settings.softThreshold >= 1 || this.stopping.signal.aborted) return;
    const done = this.prepare(tenantId, sessionId, remembered).catch(this.onError);
    this.background.add(done);
    done.finally(() => this.background.delete(done));
  }

  private async prepare(tenantId: string, sessionId: string, remembered: RememberedGoal): Promise<void> {
    const found = await this.deps.ledger.threads.findThread(tenantId, sessionId);
    if (!found) return;
    const thread = await findEffective(this.deps, { tenantId, ...found, activeTurn: undefined });
    const { goal, settings, clean } = remembered;
    const window = await readWindow(this.deps, thread, clean, goal.roomTokens, goal.keepTurns + 1);
    const tokens = window.tokens + summaryCost(thread.compaction).tokens;
    if (tokens < settings.softThreshold * goal.roomTokens) return;
    const { compactions } = this.deps.ledger;
    if (await compactions.prepared(tenantId, thread.segments, thread.compaction)) return;
    // History will have grown by then: what is prepared now must be on target when it is needed.
    const growth = Math.max(0, goal.roomTokens - tokens);
    await this.join({
      ...remembered,
      goal: { ...goal, targetTokens: Math.max(1, goal.targetTokens - growth) },
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
    while (this.background.size > 0 || this.running.size > 0) {
      await Promise.allSettled([...this.background, ...this.running.values()]);
    }
  }

  /** Stops what is being made. */
  async close(): Promise<void> {
    this.stopping.abort();
    await this.idle();
  }
}
