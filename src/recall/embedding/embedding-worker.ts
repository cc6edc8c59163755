import type { Timers } from "../../domain/clock.js";
import { EndpointFailure, UnusableAnswer } from "../../endpoints/call-failure.js";
import type { EmbeddingJob, EmbeddingJobs, EmbeddingProgress } from "../../storage/recall/embedding-jobs.js";
import type { VectorStore } from "../../storage/recall/vector-store.js";
import type { Embedder } from "../embedders/embedder.js";
import type { VectorIndex } from "../vectors/vector-index.js";

export interface EmbeddingWorkerDeps {
  readonly embedder: Embedder;
  readonly jobs: EmbeddingJobs;
  readonly store: VectorStore;
  readonly vectors: VectorIndex;
  /** What of each document is embedded; those that are gone are missing. */
  readonly textsOf: (jobs: readonly EmbeddingJob[]) => Promise<ReadonlyMap<number, string>>;
  readonly timers: Timers;
  /** Texts that are embedded together, at most. */
  readonly batchSize: number;
  /** How often to look for what other servers left. */
  readonly pollMs: number;
  readonly onFailure: (words: string) => void;
  readonly onRecovery: () => void;
}

export interface EmbeddingState extends EmbeddingProgress {
  readonly embedder: string;
  /** Why the last attempt came to nothing; undefined while all goes well. */
  readonly failure: string | undefined;
}

/** Longer than the attempts of one call take together. */
const leaseMs = 5 * 60_000;
const shortestWaitMs = 1_000;
const longestWaitMs = 60_000;
const firstRefusalMs = 60_000;
const longestRefusalMs = 3_600_000;
/** What an endpoint says about the text, and not about itself. */
const refusals = new Set([400, 413, 422]);

/**
 * Gives documents their vectors, a few at a time, in the background; nobody waits for it.
 * - A document leaves the list when its vector is stored, so what a crash or an outage stopped goes on afterwards.
 * - An embedder that fails is tried again after a growing wait, for ever.
 * - A text that it refuses is found by halving the batch, and then waits alone while the others go on.
 */
export class EmbeddingWorker {
  private readonly closing = new AbortController();
  /** Of the newest batch: a signal that lives on would gather what listens to it. */
  private call = new AbortController();
  private running: Promise<void> | undefined;
  private wakeUp: (() => void) | undefined;
  private isWoken = false;
  private batch: number;
  private failures = 0;
  private failure: string | undefined;
  /** How far the documents were looked through that were there before; undefined at the end. */
  private lookedTo: number | undefined = 0;
  private idlers: (() => void)[] = [];

  constructor(private readonly deps: EmbeddingWorkerDeps) {
    this.batch = deps.batchSize;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** There are new documents. */
  wake(): void {
    this.isWoken = true;
    this.wakeUp?.();
  }

  /** Looks through all documents again, as after a rebuild of the index. */
  lookAgain(): void {
    this.lookedTo = 0;
    this.wake();
  }

  /** Resolves when no document is due. Never, while the embedder fails. */
  async idle(): Promise<void> {
    const done = new Promise<void>((resolve) => this.idlers.push(resolve));
    this.wake();
    await done;
  }

  async state(): Promise<EmbeddingState> {
    const { embedder, jobs, store } = this.deps;
    const known = await store.findEmbedder(embedder.id);
    return { embedder: embedder.id, failure: this.failure, ...(await jobs.progress(known?.id)) };
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.call.abort(new Error("the worker is closed"));
    this.wakeUp?.();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.closing;
    while (!signal.aborted) {
      this.isWoken = false;
      const waitMs = await this.step().catch((error: unknown) => this.failed(error));
      if (waitMs === 0 || signal.aborted) continue;
      await this.wait(waitMs);
    }
  }

  /** Does a little, and says how long to wait before the next step. */
  private async step(): Promise<number> {
    const { jobs, embedder, pollMs } = this.deps;
    const claimed = await jobs.claim(this.batch, leaseMs);
    if (claimed.length > 0) return this.embed(claimed);
    if (this.lookedTo !== undefined) {
      this.lookedTo = await jobs.enlistMissing(embedder.id, this.lookedTo);
      return 0;
    }
    for (const resolve of this.idlers.splice(0)) resolve();
    return this.isWoken ? 0 : pollMs;
  }

  private async embed(claimed: readonly EmbeddingJob[]): Promise<number> {
    const { jobs, vectors, embedder, textsOf, batchSize } = this.deps;
    const ids = claimed.map(({ documentId }) => documentId);
    this.call = new AbortController();
    try {
      const texts = await textsOf(claimed);
      this.closing.signal.throwIfAborted();
      const wanted = ids.filter((id) => texts.get(id)?.trim());
      const made = await embedder.embed(
        wanted.map((id) => texts.get(id)!),
        "text",
        this.call.signal,
      );
      await vectors.put(
        embedder.id,
        wanted.map((documentId, at) => ({ documentId, vector: made[at]! })),
      );
      const others = ids.filter((id) => !texts.get(id)?.trim());
      if (others.length > 0) await jobs.drop(others);
    } catch (error) {
      return this.notEmbedded(claimed, error);
    }
    this.batch = Math.min(batchSize, this.batch * 2);
    this.failures = 0;
    if (this.failure !== undefined) this.deps.onRecovery();
    this.failure = undefined;
    return 0;
  }

  private async notEmbedded(claimed: readonly EmbeddingJob[], error: unknown): Promise<number> {
    const { jobs } = this.deps;
    const [job] = claimed;
    const isAboutText =
      error instanceof UnusableAnswer || refusals.has((error as EndpointFailure).status ?? 0);
    if (isAboutText && !this.closing.signal.aborted && claimed.length === 1 && job) {
      await jobs.refused(job.documentId, Math.min(longestRefusalMs, firstRefusalMs * 4 ** job.refusals));
      return this.failed(error);
    }
    await jobs.giveBack(claimed.map(({ documentId }) => documentId));
    if (!isAboutText) return this.failed(error);
    this.batch = Math.ceil(claimed.length / 2);
    return 0;
  }

  private failed(error: unknown): number {
    if (this.closing.signal.aborted) return 0;
    const words = error instanceof EndpointFailure ? error.message : "vectors cannot be stored now";
    if (words !== this.failure) this.deps.onFailure(words);
    this.failure = words;
    return Math.min(longestWaitMs, shortestWaitMs * 2 ** Math.min(this.failures++, 10));
  }

  private async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.deps.timers.after(ms, resolve);
      this.wakeUp = () => {
        // A failing embedder is not asked again for every new document.
        if (this.failure !== undefined && !this.closing.signal.aborted) return;
        timer.cancel();
        resolve();
      };
      if (this.isWoken || this.closing.signal.aborted) this.wakeUp();
    });
    this.wakeUp = undefined;
  }
}
