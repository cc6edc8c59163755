import { randomUUID } from "node:crypto";
import type { Quire } from "./connect.js";
import type {
  AppendMessagesRequest,
  AppendMessagesResponse,
  BeginTurnRequest,
  CompleteTurnRequest,
  CompleteTurnResponse,
} from "./gen/quire/v1/ledger_service.js";
import type { DeepPartial } from "./gen/quire/v1/message.js";
import { TurnStatus } from "./gen/quire/v1/turn.js";
import { QuireError } from "./quire-error.js";
import type { CallOptions } from "./service.js";

/** What ends a turn that has lost its lease. */
const losses: ReadonlySet<string> = new Set(["INTERRUPTED", "LEASE_LOST", "TURN_NOT_OPEN", "TURN_NOT_FOUND"]);

/** Calls back after a while, unless it is cancelled. */
export interface Timers {
  after(ms: number, callback: () => void): { cancel(): void };
}

const ownTimers: Timers = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    // A lease that nobody waits for keeps no process alive.
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

export interface LeaseOptions extends CallOptions {
  /** What tells when the lease is to be renewed: the process's own timers, unless given. */
  readonly timers?: Timers;
}

/**
 * An open turn that has its session for itself. The lease is renewed for as long as the turn is open; when another turn takes it, `signal` is
 * aborted with the error that says so.
 */
export class LeasedTurn {
  private readonly lost = new AbortController();
  private timer: { cancel(): void } | undefined;

  private constructor(
    private readonly ledger: Quire["ledger"],
    readonly id: string,
    private readonly seconds: number,
    private readonly timers: Timers,
  ) {}

  /** Begins a turn with a lease: of 60 seconds, and refused if the session is busy, unless the request says otherwise. */
  static async begin(
    { ledger }: Pick<Quire, "ledger">,
    request: DeepPartial<BeginTurnRequest>,
    { timers = ownTimers, ...options }: LeaseOptions = {},
  ): Promise<LeasedTurn> {
    const lease = request.lease ?? {};
    const { turn, lease: taken } = await ledger.beginTurn(
      { requestId: randomUUID(), ...request, lease },
      options,
    );
    const leased = new LeasedTurn(ledger, turn!.id, taken?.seconds || 60, timers);
    leased.renewLater();
    return leased;
  }

  /** Is aborted when the turn has lost its session. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  append(request: DeepPartial<AppendMessagesRequest>): Promise<AppendMessagesResponse> {
    return this.ledger.appendMessages({ ...request, turnId: this.id });
  }

  /** Ends the turn. Its lease is renewed no more: that it is over would look like a loss. */
  async complete(request: DeepPartial<CompleteTurnRequest> = {}): Promise<CompleteTurnResponse> {
    this.release();
    return this.ledger.completeTurn({ ...request, turnId: this.id });
  }

  /** Gives the turn up: nothing of it comes into the thread. */
  async fail(error: unknown): Promise<void> {
    const result = { error: String(error).slice(0, 1_000) };
    await this.complete({ status: TurnStatus.FAILED, result }).catch(() => {
      // It is over already, or its lease will end it.
    });
  }

  /** Renews no more; the lease ends with the turn, or by itself. */
  release(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  private renewLater(): void {
    this.timer = this.timers.after((this.seconds * 1_000) / 3, () => this.renew());
  }

  private async renew(): Promise<void> {
    const at = this.timer;
    try {
      await this.ledger.renewLease({ turnId: this.id });
    } catch (thrown) {
      const error = QuireError.from(thrown);
      if (losses.has(error.reason)) {
        if (this.timer === at) this.lost.abort(error);
        return this.release();
      }
    }
    // Another failure passes, or the lease expires; then the turn's next call says so.
    if (this.timer === at) this.renewLater();
  }
}
