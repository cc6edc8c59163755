import { Worker } from "node:worker_threads";
import { compiledModule } from "../config/package-root.js";
import type { Vocabulary } from "./vocabulary.js";

export interface CountRequest {
  readonly id: number;
  readonly texts: readonly string[];
  readonly vocabulary: Vocabulary;
}

export interface CountReply {
  readonly id: number;
  readonly counts: number[];
}

interface Wait {
  readonly resolve: (counts: number[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * One worker thread that counts, for as long as it lives: it starts at once and answers in the order asked. It
 * keeps the process alive only while somebody waits. When it ends, whatever the cause, all who wait are
 * rejected and `onEnd` is called.
 */
export class CountingWorker {
  readonly #worker = new Worker(compiledModule("src/tokens/count-worker.ts"), { execArgv: [] });
  readonly #waits = new Map<number, Wait>();
  #lastId = 0;

  constructor(onEnd: (ended: CountingWorker) => void) {
    const end = (error: Error): void => {
      onEnd(this);
      for (const id of [...this.#waits.keys()]) this.#take(id)?.reject(error);
    };
    this.#worker.unref();
    this.#worker.on("message", ({ id, counts }: CountReply) => this.#take(id)?.resolve(counts));
    this.#worker.on("error", (cause) => end(new Error("the token counting worker failed", { cause })));
    this.#worker.on("exit", (code) => end(new Error(`the token counting worker ended with code ${code}`)));
  }

  /** Rejects with the signal's reason when that comes first; the worker counts on, for nobody. */
  count(texts: readonly string[], vocabulary: Vocabulary, signal?: AbortSignal): Promise<number[]> {
    const request: CountRequest = { id: ++this.#lastId, texts, vocabulary };
    return new Promise<number[]>((resolve, reject) => {
      signal?.throwIfAborted();
      this.#worker.postMessage(request);
      const abort = (): void => this.#take(request.id)?.reject(signal?.reason);
      signal?.addEventListener("abort", abort);
      const release = (): void => signal?.removeEventListener("abort", abort);
      if (this.#waits.size === 0) this.#worker.ref();
      this.#waits.set(request.id, {
        resolve: (counts) => {
          release();
          resolve(counts);
        },
        reject: (reason) => {
          release();
          reject(reason);
        },
      });
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #take(id: number): Wait | undefined {
    const wait = this.#waits.get(id);
    if (this.#waits.delete(id) && this.#waits.size === 0) this.#worker.unref();
    return wait;
  }
}
