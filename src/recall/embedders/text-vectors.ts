import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import type { Clock } from "../../domain/clock.js";
import { megabyte } from "../../domain/memory-size.js";
import type { Embedder } from "./embedder.js";

export interface TextVectorsDeps {
  readonly embedder: Embedder;
  readonly caches: Caches;
  readonly clock: Clock;
  /** Texts that are embedded together, at most. */
  readonly batchSize: number;
}

const cacheBytes = 16 * megabyte;
/** So long after a failure the embedder is left alone. */
const restMs = 10_000;
/** So many texts may wait for their vectors. */
const mostWaiting = 4_096;

/** The vectors of texts that are in no index. They are made in the background: whoever asks gets those that are there. */
export class TextVectors {
  private readonly kept: BoundedCache<Float32Array>;
  private readonly waiting = new Set<string>();
  private readonly closing = new AbortController();
  private running: Promise<void> | undefined;
  private restsUntilMs = 0;

  constructor(private readonly deps: TextVectorsDeps) {
    this.kept = deps.caches.create<Float32Array>(
      "vectors of texts at hand",
      cacheBytes,
      (vector) => vector.byteLength,
    );
  }

  /** The vector of each text, where there is one already. */
  of(texts: readonly string[]): readonly (Float32Array | undefined)[] {
    return texts.map((text) => {
      const vector = this.kept.get(text);
      if (!vector && text.trim() !== "" && this.waiting.size < mostWaiting) this.want(text);
      return vector;
    });
  }

  /** Resolves when nothing waits any more, or the embedder failed. */
  async idle(): Promise<void> {
    await this.running;
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.running;
  }

  private want(text: string): void {
    const { clock } = this.deps;
    if (this.closing.signal.aborted || clock.now() < this.restsUntilMs) return;
    this.waiting.add(text);
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
  }

  private async run(): Promise<void> {
    const { embedder, batchSize, clock } = this.deps;
    // Whoever asks names all of its texts first.
    await undefined;
    while (this.waiting.size > 0) {
      const batch = [...this.waiting].slice(0, batchSize);
      try {
        const vectors = await embedder.embed(batch, "text", this.closing.signal);
        for (const [at, text] of batch.entries()) this.kept.set(text, vectors[at]!);
      } catch {
        // Searches say what is wrong with the embedder; ranking goes by words meanwhile.
        this.restsUntilMs = clock.now() + restMs;
        this.waiting.clear();
      }
      for (const text of batch) this.waiting.delete(text);
    }
  }
}
