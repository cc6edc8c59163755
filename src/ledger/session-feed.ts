import type { HeadMove } from "../domain/session.js";
import type { SessionLease } from "../storage/ledger/rows.js";

/** How many moves a feed holds for its watchers. Who needs older ones reads the log. */
export const maxTail = 32;

/** One watched session, for all who watch it: how far its log is known, and the newest moves while they are handed out. */
export class SessionFeed {
  readonly watchers = new Set<() => void>();
  isDeleted = false;
  /** The moves up to `sequence`, without a gap; as many as are held. */
  private tail: readonly HeadMove[] = [];

  constructor(
    readonly tenantId: string,
    readonly sessionId: string,
    public sequence: number,
    /** As it was last seen, but for renewals. */
    public lease: SessionLease,
  ) {}

  get leaseTurnId(): string | null {
    return this.lease.leaseTurnId;
  }

  /** The log is known up to `sequence`; the moves since are given, or too many to be held. */
  advance(sequence: number, moves: readonly HeadMove[]): void {
    const isWhole = moves.length === sequence - this.sequence;
    this.tail = isWhole ? [...this.tail, ...moves].slice(-maxTail) : [];
    this.sequence = sequence;
  }

  /** The known moves after one; undefined when they are to be read from the log. */
  movesAfter(sequence: number): readonly HeadMove[] | undefined {
    const missing = this.sequence - sequence;
    if (missing <= 0) return [];
    return missing <= this.tail.length ? this.tail.slice(-missing) : undefined;
  }

  forgetTail(): void {
    this.tail = [];
  }
}
