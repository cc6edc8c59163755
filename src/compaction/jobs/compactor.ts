import { setMaxListeners } from "node:events";
import { toMicroseconds } from "../../domain/clock.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { atLeast, minus, plus } from "../../domain/token-units.js";
import { boundCut, newestPin } from "../../ledger/effective-cut.js";
import { findWhole, heldBy } from "../../ledger/effective-thread.js";
import { readWindow } from "../../ledger/thread-window.js";
import { type CompactionOutcome, noKey } from "../../storage/ledger/compaction-store.js";
import type { HeldCompaction } from "../../storage/ledger/held-compactions.js";
import type { CompactionRow } from "../../storage/ledger/rows.js";
import { summaryCost } from "../../thread/summary-cost.js";
import { noCounts, plusCounts, shownTokens } from "../../thread/thread-counts.js";
import { type PlannedFold, planFold } from "../plan/plan-fold.js";
import { engineName } from "./choose-summarizers.js";
import type { CompactorDeps } from "./deps.js";
import { asOutcome, type CompactionJob, type JobOutcome } from "./job.js";
import { makeCompaction } from "./make-compaction.js";
import { wantedOf } from "./wanted.js";

/** A job whose cut is planned. */
export type PlannedJob = CompactionJob & { readonly planned: PlannedFold };

/** How long a job may take when nobody waits for it. */
const backgroundLimitMs = 120_000;
/** For so many sessions something is prepared at a time: each holds a window of its thread. The others are compacted when they are due. */
const mostPrepared = 64;

/**
 * Makes compactions, one at a time for a place of a session's thread and a goal: who asks for one that is being made waits for it. A job
 * goes on when those who wait give up, and what it made is there for the next assembly.
 */
export class Compactor {
  private readonly running = new Map<string, Promise<JobOutcome>>();
  /** By session: what is being prepared. */
  private readonly preparing = new Map<string, Promise<void>>();
  private readonly stopping = new AbortController();

  constructor(
    readonly deps: CompactorDeps,
    private readonly onError: (error: unknown) => void,
  ) {
    // Every job that runs listens to it.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Joins the job for this thread, or begins it. Undefined when it is not done in time; it goes on all the same. What breaks it goes to the log. */
  run(job: PlannedJob, waitMs: number, signal?: AbortSignal): Promise<JobOutcome | undefined> {
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

  private join(job: PlannedJob): Promise<JobOutcome> {
    const { tenantId, session } = job.thread;
    const { firstKeptTurnId, firstKeptMessageIndex } = job.planned.plan;
    const place = `${firstKeptTurnId}/${firstKeptMessageIndex}`;
    const key = [tenantId, session.id, place, job.goalId, job.isPrepared].join("/");
    let made = this.running.get(key);
    if (!made) {
      made = this.make(job).finally(() => this.running.delete(key));
      // Who waits hears of it; if nobody waits any more, the log does.
      made.catch(this.report);
      this.running.set(key, made);
    }
    return made;
  }

  private async make(job: PlannedJob): Promise<JobOutcome> {
    const { thread, planned, goalId: goal } = job;
    const { tenantId } = thread;
    const { compactions, threads } = this.deps.ledger;
    // Whoever read the thread just before another was done with it finds that one here.
    const last = await threads.findTurnAt(tenantId, thread.segments, planned.plan.summarizedTurns);
    const { threadTokens } = plusCounts(last ?? noCounts, planned.splitCounts);
    const before = await compactions.same(heldBy(thread), { ...planned.plan, goal }, threadTokens);
    if (before) return this.inForce(job, { kind: "done", row: before });
    const outcome = await makeCompaction(this.deps, job, planned, this.stopping.signal, async (draft, of) =>
      asOutcome(await compactions.write(noKey<CompactionOutcome>(tenantId), draft, of, (written) => written)),
    );
    return outcome.kind === "done" ? this.inForce(job, outcome) : outcome;
  }

  /** One that another had prepared for the same counts from now on. */
  private async inForce(
    { isPrepared }: PlannedJob,
    { row }: { readonly kind: "done"; readonly row: CompactionRow },
  ): Promise<JobOutcome> {
    if (isPrepared || row.appliedUs !== null) return { kind: "done", row };
    const nowUs = toMicroseconds(this.deps.clock.now());
    const applied = await this.deps.ledger.compactions.apply(row.tenantId, row.id, nowUs);
    return applied
      ? { kind: "done", row: applied }
      : { kind: "failed", reason: "the thread changed meanwhile", failures: [] };
  }

  /** What ends because everything does is no error. */
  private readonly report = (error: unknown): void => {
    if (!this.stopping.signal.aborted) this.onError(error);
  };

  /** A turn was finished: if history is near its limit, its compaction is prepared now. */
  afterTurn(tenantId: string, sessionId: string): void {
    const key = `${tenantId}/${sessionId}`;
    if (this.preparing.has(key) || this.preparing.size >= mostPrepared || this.stopping.signal.aborted)
      return;
    const done = this.prepare(tenantId, sessionId)
      .catch(this.report)
      .finally(() => this.preparing.delete(key));
    this.preparing.set(key, done);
  }

  /** What is wanted is what the newest context wanted that a turn of the thread answers to. */
  private async prepare(tenantId: string, sessionId: string): Promise<void> {
    const { ledger, templates, recentReceipts } = this.deps;
    if ((await ledger.threads.newestPins(tenantId, sessionId, 1)).length === 0) return;
    const found = await ledger.threads.findThread(tenantId, sessionId);
    if (!found) return;
    const { texts } = await templates.current();
    const whole = await findWhole(ledger, { tenantId, ...found, activeTurn: undefined, texts });
    const of = heldBy(whole);
    const pin = await newestPin(ledger, of);
    const receipt = pin && (await recentReceipts.find(tenantId, pin.assemblyId));
    const wanted = receipt && wantedOf(receipt);
    if (!wanted || wanted.settings.softThreshold >= 1) return;
    // Its summaries are the engine's, which is asked when one is due.
    if (wanted.settings.summarizers[0] === engineName) return;
    const { goal, goalId, settings, clean, vocabulary } = wanted;
    const compaction = await boundCut(ledger, of, pin.compactionId ?? "", pin.model);
    const thread = { ...whole, compaction, vocabulary };
    const near = settings.softThreshold * goal.roomTokens;
    if (vocabulary === "o200k_base" && shownTokens(found.head ?? noCounts, compaction, clean) < near) return;
    const window = await readWindow(ledger, thread, clean, goal.roomTokens, goal.keepTurns + 1);
    const tokens = plus(window.tokens, summaryCost(window.compaction).tokens);
    if (tokens < near) return;
    const counts = found.head ?? noCounts;
    const after = (compaction?.beforeTokens ?? -1n) + 1n;
    const isReady = (held: HeldCompaction) =>
      held.goal === goalId && (held.appliedUs === null || shownTokens(counts, held, clean) < near);
    if (await ledger.compactions.keepingMost(of, after, isReady)) return;
    // History will have grown by then: what is prepared now must be on target when it is needed.
    const growth = atLeast(minus(goal.roomTokens, tokens), 0);
    const job: CompactionJob = {
      clean,
      settings,
      goal: { ...goal, targetTokens: atLeast(minus(goal.targetTokens, growth), 1) },
      goalId,
      floorModel: undefined,
      thread,
      trigger: CompactionTrigger.BACKGROUND,
      instructions: "",
      mayAskEngine: true,
      isPrepared: true,
      limitMs: backgroundLimitMs,
    };
    const planned = await planFold(job, window, this.stopping.signal);
    if (planned) await this.join({ ...job, planned });
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
