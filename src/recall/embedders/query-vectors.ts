import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import type { Clock, Timers } from "../../domain/clock.js";
import { megabyte } from "../../domain/memory-size.js";
import { untilAborted } from "../../domain/until-aborted.js";
import type { Embedder } from "./embedder.js";

export interface QueryVectorsDeps {
  readonly embedder: Embedder;
  readonly caches: Caches;
  readonly clock: Clock;
  readonly timers: Timers;
}

const cacheBytes = 8 * megabyte;
/** So long a search waits for a vector; the call goes on, and the next search for the same has it. */
const longestWaitMs = 2_000;
/** So long after a failure nobody waits for the embedder. */
const restMs = 10_000;

/** The vectors of questions. Nobody waits long for one: a search does without rather than be late. */
export class QueryVectors {
  private readonly kept: BoundedCache<Float32Array>;
  private readonly running = new Map<string, Promise<Float32Array>>();
  private readonly closing = new AbortController();
  private restsUntilMs = 0;
  private lastFailure = "";

  constructor(private readonly deps: QueryVectorsDeps) {
    this.kept = deps.caches.create<Float32Array>(
      "vectors of questions",
      cacheBytes,
      (vector) => vector.byteLength,
    );
  }

  /** The vector, or in words why there is none. Rejects only with the signal's reason. */
  async of(text: string, signal?: AbortSignal, waitMs = longestWaitMs): Promise<Float32Array | string> {
    signal?.throwIfAborted();
    const kept = this.kept.get(text);
    if (kept) return kept;
    const { clock, timers } = this.deps;
    if (clock.now() < this.restsUntilMs) return this.lastFailure;
    const late = new AbortController();
    const timer = timers.after(waitMs, () => late.abort());
    const stop = () => late.abort();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await untilAborted(this.ask(text), late.signal);
    } catch (error) {
      signal?.throwIfAborted();
      return late.signal.aborted
        ? this.failed(`gave no vector within ${waitMs} ms`)
        : this.failed(error instanceof Error ? error.message : "failed");
    } finally {
      timer.cancel();
      signal?.removeEventListener("abort", stop);
    }
  }

  close(): void {
    this.closing.abort();
  }

  /** Many searches for the same ask once. */
  private ask(text: string): Promise<Float32Array> {
    let work = this.running.get(text);
    if (work === undefined) {
      const own = new AbortController();
      const stop = () => own.abort();
      this.closing.signal.addEventListener("abort", stop, { once: true });
      work = this.deps.embedder
        .embed([text], "query", own.signal)
        .then(([vector]) => {
          this.kept.set(text, vector!);
          this.restsUntilMs = 0;
          return vector!;
        })
        .finally(() => {
          this.running.delete(text);
          this.closing.signal.removeEventListener("abort", stop);
        });
      this.running.set(text, work);
      work.catch(() => undefined);
    }
    return work;
  }

  private failed(words: string): string {
    this.lastFailure = `the embedder ${words}`;
    this.restsUntilMs = this.deps.clock.now() + restMs;
    return this.lastFailure;
  }
}
