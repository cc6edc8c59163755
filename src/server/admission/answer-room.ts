import type { Clock } from "../../domain/clock.js";
import { ByteBudget } from "./byte-budget.js";
import { smallBytes } from "./small-bytes.js";

/** A call with answers on their way. */
interface Sender {
  cutOff(): void;
}

interface LargeAnswer {
  readonly sender: Sender;
  readonly sinceMs: number;
}

/** How long an answer may lie unread while others wait for its room. */
const unreadMs = 30_000;

/** The room for answers that are made and not yet with their clients. */
export class AnswerRoom {
  private readonly budget: ByteBudget;
  private readonly large = new Set<LargeAnswer>();
  /** When a sender last got rid of something. */
  private readonly progress = new WeakMap<Sender, number>();

  constructor(
    maxBytes: number,
    private readonly clock: Clock,
  ) {
    this.budget = new ByteBudget("bytes_unread", maxBytes);
  }

  /**
   * Calls back when there is room, at once if there is, with what gives it free again. Returns what ends the wait. Throws when too
   * many wait already. What is small waits for nobody.
   */
  enter(sender: Sender, bytes: number, granted: (release: () => void) => void): () => void {
    if (bytes <= smallBytes) {
      const hold = this.budget.take(bytes);
      granted(() => hold.release());
      return () => undefined;
    }
    return this.budget.ask(bytes, (hold) => {
      const answer = { sender, sinceMs: this.clock.now() };
      this.large.add(answer);
      granted(() => {
        this.progress.set(sender, this.clock.now());
        this.large.delete(answer);
        hold.release();
      });
    });
  }

  /** Cuts off those whose answers lie unread, if others wait. */
  sweep(): void {
    if (!this.budget.hasWaiting) return;
    const beforeMs = this.clock.now() - unreadMs;
    for (const { sender, sinceMs } of this.large) {
      if (Math.max(sinceMs, this.progress.get(sender) ?? 0) <= beforeMs) sender.cutOff();
    }
  }
}
