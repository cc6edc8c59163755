import type { CallOptions, Quire } from "../../../src/index.js";
import type { Random } from "../../model/random.js";
import { wireError } from "../../support/server.js";

type Send<T> = (quire: Quire, options: CallOptions) => Promise<T>;

/** Calls of which some are cancelled at a random moment. What fails otherwise, and is not allowed to, ends the test. */
export class SoakCalls {
  readonly ended = new Map<string, number>();
  private requests = 0;

  constructor(
    private readonly quire: Quire,
    private readonly name: string,
    readonly random: Random,
  ) {}

  requestId(): string {
    return `${this.name}-${this.requests++}`;
  }

  /** Undefined when it was cancelled, or refused for a reason that may be. */
  async read<T>(send: Send<T>, allowed: readonly string[] = []): Promise<T | undefined> {
    const cancelling = new AbortController();
    const isCancelled = this.random.chance(0.08);
    const timer = isCancelled ? setTimeout(() => cancelling.abort(), this.random.below(12)) : undefined;
    try {
      const answer = await send(this.quire, isCancelled ? { signal: cancelling.signal } : {});
      this.note("answered");
      return answer;
    } catch (error) {
      const { reason, code, message } = wireError(error);
      const name = cancelling.signal.aborted && code === 1 ? "cancelled" : reason;
      if (name !== "cancelled" && !allowed.includes(name))
        throw new Error(`${this.name}: code ${code} ${reason} ${message}`, { cause: error });
      this.note(name);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A write with a request id. When it was cancelled nobody knows whether it was done: it is sent again, and must be done once. */
  async write<T>(send: Send<T>): Promise<T> {
    return (await this.read(send)) ?? (await send(this.quire, {}));
  }

  private note(name: string): void {
    this.ended.set(name, (this.ended.get(name) ?? 0) + 1);
  }
}
