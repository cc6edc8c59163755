import type { CountedTokens } from "../domain/token-units.js";
import { Offload, task } from "../offload/offload.js";
import type { countTexts } from "./count-texts.js";
import { countTokens } from "./count-tokens.js";
import type { Vocabulary } from "./vocabulary.js";
import { warmUp } from "./warm-up.js";

const DEFAULT_VOCABULARY: Vocabulary = "o200k_base";
const counting = task<typeof countTexts>("src/tokens/count-texts.ts", "countTexts");
const DEFAULT_WORKER_THRESHOLD_BYTES = 64 * 1024;

export interface TokenCounterOptions {
  /** How much text, as UTF-8, is counted in the calling thread in one turn of the event loop at most. */
  readonly workerThresholdBytes?: number;
}

/**
 * Counts tokens without blocking the event loop. Little text is counted at once in the calling thread. Text
 * above the threshold goes to a worker thread of the counter's own, which holds the vocabularies and never waits behind
 * other work. Many small calls in one turn of the event loop add up, so that together they do not block it either.
 */
export class TokenCounter {
  private readonly thresholdBytes: number;
  private bytesThisTurn = 0;
  private readonly offload = new Offload(1);

  constructor(options: TokenCounterOptions = {}) {
    this.thresholdBytes = options.workerThresholdBytes ?? DEFAULT_WORKER_THRESHOLD_BYTES;
  }

  /** Loads the vocabulary and runs the counter warm in the calling thread, which blocks: for use at start. */
  prepare(vocabulary: Vocabulary = DEFAULT_VOCABULARY): void {
    warmUp(vocabulary);
  }

  /** Counts in the calling thread, however long the text is. */
  countNow(text: string, vocabulary: Vocabulary = DEFAULT_VOCABULARY): CountedTokens {
    return countTokens(text, vocabulary);
  }

  async count(text: string, vocabulary?: Vocabulary, signal?: AbortSignal): Promise<CountedTokens> {
    const [count] = await this.countAll([text], vocabulary, signal);
    return count!;
  }

  /**
   * One count for each text, in their order: the counts themselves when they were made in the calling thread, a
   * promise when the worker makes them. The signal ends the wait for the worker.
   */
  countAll(
    texts: readonly string[],
    vocabulary: Vocabulary = DEFAULT_VOCABULARY,
    signal?: AbortSignal,
  ): CountedTokens[] | Promise<CountedTokens[]> {
    if (this.admits(texts)) return texts.map((text) => countTokens(text, vocabulary));
    return this.offload.run(counting, { texts, vocabulary }, signal);
  }

  /** Ends the worker and rejects who waits for it. From then on only the calling thread counts. */
  async close(): Promise<void> {
    await this.offload.close();
  }

  /** Whether the calling thread has room for these texts in this turn, which they then take. */
  private admits(texts: readonly string[]): boolean {
    let bytes = this.bytesThisTurn;
    for (const text of texts) {
      // The length alone settles it for most long texts, without a look at them.
      if (bytes + text.length > this.thresholdBytes) return false;
      bytes += Buffer.byteLength(text);
      if (bytes > this.thresholdBytes) return false;
    }
    if (this.bytesThisTurn === 0 && bytes > 0) {
      setImmediate(() => {
        this.bytesThisTurn = 0;
      });
    }
    this.bytesThisTurn = bytes;
    return true;
  }
}
