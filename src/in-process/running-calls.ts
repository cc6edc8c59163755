import { setMaxListeners } from "node:events";
import { RunningWork } from "../domain/running-work.js";
import { untilAborted } from "../domain/until-aborted.js";
import { QuireError } from "../errors/quire-error.js";
import { callerLeft, deadlinePassed, failureOf } from "../server/call/early-end.js";
import { EventLoopBreaks } from "./event-loop-breaks.js";

/** The calls into one engine: what stops each of them, and what must be over before the engine closes. */
export class RunningCalls {
  private readonly closing = new AbortController();
  private readonly running = new RunningWork();
  private readonly breaks = new EventLoopBreaks();

  constructor() {
    // Every stream listens to it.
    setMaxListeners(0, this.closing.signal);
  }

  /** One answer. It is not waited for any longer than the caller's signal says. */
  async answer<T>(
    given: AbortSignal | undefined,
    work: (signal: AbortSignal, stepAside: () => AbortSignal) => Promise<T>,
  ): Promise<T> {
    this.requireOpen();
    const { signal, release } = follow([given]);
    // What waits for others ends when the engine is closed.
    let aside: ReturnType<typeof follow> | undefined;
    const stepAside = () => {
      aside ??= follow([given, this.closing.signal]);
      return aside.signal;
    };
    try {
      signal.throwIfAborted();
      return await untilAborted(this.running.track(work(signal, stepAside)), signal);
    } catch (thrown) {
      throw failureOf(thrown, signal);
    } finally {
      release();
      aside?.release();
      await this.breaks.nextIfDue();
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
        const next = await untilAborted(this.running.track(answers.next()), signal);
        if (next.done) break;
        await this.breaks.nextIfDue();
        yield next.value;
      }
      signal.throwIfAborted();
    } catch (thrown) {
      throw failureOf(thrown, signal);
    } finally {
      release();
      this.running.track(Promise.resolve(answers.return?.())).catch(() => undefined);
    }
  }

  /** Takes no more calls, ends the streams, and waits for the rest. */
  async close(): Promise<void> {
    this.closing.abort(new QuireError("SHUTTING_DOWN", "the engine is closed"));
    await this.running.idle();
  }

  private requireOpen(): void {
    this.closing.signal.throwIfAborted();
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
  return reason instanceof Error && reason.name === "TimeoutError" ? deadlinePassed() : callerLeft();
}
