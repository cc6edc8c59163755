import type { Timers } from "../../domain/clock.js";
import { pausing } from "../../domain/pausing.js";
import { QuireError } from "../../errors/quire-error.js";
import { groupBy } from "../../storage/group-by.js";
import type { Pending } from "../../storage/recall/pending.js";
import type { IndexedText, SearchStore } from "../../storage/recall/search-store.js";
import { draftDocuments } from "./draft-documents.js";

/** So many texts are indexed in one transaction. */
const sliceTexts = 16;
/** Indexing waits until nothing was written for so long, since it would take its time from the writers. */
const quietMs = 250;
/** And no longer than half a minute, whoever writes. */
const longestRounds = 120;
/** A search does so much of what waits before it looks; the rest it only counts. */
const catchUpTexts = 2_000;

/**
 * Makes documents of what was written. That a text waits is stored together with it, so nothing is forgotten when a server ends;
 * whichever server comes next goes on. A search first indexes what its tenant has waiting, and so finds what was
 * written right before it.
 */
export class Indexer {
  private readonly closing = new AbortController();
  private timer: ReturnType<Timers["after"]> | undefined;
  private nudges = 0;
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly store: SearchStore,
    private readonly timers: Timers,
    private readonly onFailure: (error: unknown) => void,
    private readonly onIndexed: () => void = () => undefined,
  ) {}

  /** Says that something was written. Indexing begins when it has become quiet. */
  nudge(): void {
    this.nudges++;
    this.timer ??= this.wait(0);
  }

  private wait(rounds: number): ReturnType<Timers["after"]> {
    const before = this.nudges;
    return this.timers.after(quietMs, () => {
      this.timer = undefined;
      if (this.closing.signal.aborted) return;
      if (this.nudges !== before && rounds < longestRounds) this.timer = this.wait(rounds + 1);
      else this.inLine(() => this.index(undefined, Number.POSITIVE_INFINITY)).catch(this.onFailure);
    });
  }

  /** Indexes what a tenant has waiting, and gives the number of what still waits. */
  async catchUp(tenantId: string, signal?: AbortSignal): Promise<number> {
    if ((await this.store.pending(tenantId, 1)).length === 0) return 0;
    await this.inLine(() => this.index(tenantId, catchUpTexts, signal));
    return this.store.countPending(tenantId);
  }

  /**
   * Makes every document anew, and gives how many texts there were. Only a slice waits at a time, and each document stands until its
   * successor does: searches go on as before.
   */
  async rebuild(onProgress: (done: number, total: number) => void): Promise<number> {
    const total = await this.store.countTexts();
    let done = 0;
    onProgress(done, total);
    for await (const marked of this.store.markAll()) {
      await this.inLine(() => this.index(undefined, Number.POSITIVE_INFINITY));
      done += marked;
      onProgress(Math.min(done, total), total);
    }
    await this.store.dropDeletedTerms();
    return done;
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.timer?.cancel();
    await this.running.catch(() => undefined);
  }

  /** One after the other: two at once would do the same work. */
  private inLine<T>(work: () => Promise<T>): Promise<T> {
    const next = this.running.then(work, work);
    this.running = next.catch(() => undefined);
    return next;
  }

  /** A text that cannot be taken apart is found by nobody, and keeps nobody else from being found. */
  private async draft(
    tenantId: string,
    pending: readonly Pending[],
    pause: () => Promise<void> | undefined,
  ): Promise<IndexedText[]> {
    try {
      return await draftDocuments(this.store, tenantId, pending, pause);
    } catch (error) {
      if (error instanceof QuireError) throw error;
      this.onFailure(error);
      if (pending.length === 1) return [{ ...pending[0]!, documents: [] }];
      const each: IndexedText[] = [];
      for (const one of pending) each.push(...(await this.draft(tenantId, [one], pause)));
      return each;
    }
  }

  private async index(tenantId: string | undefined, most: number, signal?: AbortSignal): Promise<number> {
    const pause = pausing();
    let done = 0;
    while (done < most && !this.closing.signal.aborted) {
      signal?.throwIfAborted();
      const pending = await this.store.pending(tenantId, Math.min(sliceTexts, most - done));
      if (pending.length === 0) break;
      for (const [tenant, some] of groupBy(pending, (one) => one.tenantId))
        await this.store.store(await this.draft(tenant, some, pause));
      done += pending.length;
      await pause();
    }
    if (done > 0) this.onIndexed();
    return done;
  }
}
