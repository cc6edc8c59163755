import { setMaxListeners } from "node:events";
import { untilAborted } from "../domain/until-aborted.js";
import { QuireError } from "../errors/quire-error.js";
import { FairTurns } from "./fair-turns.js";

/** The calls into one engine: what stops each of them, and what must be over before the engine closes. */
export class Calls {
  private readonly closing = new AbortController();
  private readonly running = new Set<Promise<unknown>>();
  private readonly turns = new FairTurns();

  constructor() {
    // Every stream listens to it.
    setMaxListeners(0, this.closing.signal);
  }

  /** One answer. It is not waited for any longer than the caller's signal says. */
  async answer<T>(given: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.requireOpen();
    const { signal, release } = follow([given]);
    try {
      signal.throwIfAborted();
      return await untilAborted(this.tracked(work(signal)), signal);
    } catch (thrown) {
      throw failure(thrown, signal);
    } finally {
      release();
      await this.turns.nextIfDue();
    }
  }

  /** Answers as they become ready; the next one is made when it is asked for. */
  async *stream<T>(
    given: AbortSignal | undefined,
    work: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    this.requireOpen();
    const { signal, release } = follow([given, this.closing.signal]);
    const answers = work(signal)[Symbol.asyncIterator]();
    try {
      for (;;) {
        signal.throwIfAborted();
        const next = await untilAborted(this.tracked(answers.next()), signal);
        if (next.done) break;
        await this.turns.nextIfDue();
        yield next.value;
      }
      signal.throwIfAborted();
    } catch (thrown) {
      throw failure(thrown, signal);
    } finally {
      release();
      this.tracked(Promise.resolve(answers.return?.())).catch(() => undefined);
    }
  }

  /** Takes no more calls, ends the streams, and waits for the rest. */
  async close(): Promise<void> {
    this.closing.abort(new QuireError("SHUTTING_DOWN", "the engine is closed"));
    while (this.running.size > 0) await Promise.allSettled(this.running);
  }

  private requireOpen(): void {
    this.closing.signal.throwIfAborted();
  }

  private tracked<T>(work: Promise<T>): Promise<T> {
    this.running.add(work);
    const forget = () => this.running.delete(work);
    work.then(forget, forget);
    return work;
  }
}

/** A signal that aborts with any of those given, for a reason that is a QuireError. */
function follow(given: readonly (AbortSignal | undefined)[]): {
  readonly signal: AbortSignal;
  release(): void;
} {
  const controller = new AbortController();
  const stop = (event: Event) => controller.abort(cancellation((event.target as AbortSignal).reason));
  for (const signal of given) {
    if (signal?.aborted) controller.abort(cancellation(signal.reason));
    else signal?.addEventListener("abort", stop);
  }
  const release = () => {
    for (const signal of given) signal?.removeEventListener("abort", stop);
  };
  return { signal: controller.signal, release };
}

function cancellation(reason: unknown): QuireError {
  if (reason instanceof QuireError) return reason;
  // AbortSignal.timeout says so by this name.
  return reason instanceof Error && reason.name === "TimeoutError"
    ? new QuireError("DEADLINE_EXCEEDED", "the deadline passed; the work was stopped")
    : new QuireError("CANCELLED", "the caller went away; the work was stopped");
}

/** When the work ended because it was told to, the signal knows best why. */
function failure(thrown: unknown, signal: AbortSignal): QuireError {
  const wasTold = signal.aborted && !(thrown instanceof QuireError && thrown.reason !== "CANCELLED");
  return QuireError.from(wasTold ? signal.reason : thrown);
}
