import type { Timers } from "../domain/clock.js";
import { untilAborted } from "../domain/until-aborted.js";
import { QuireError } from "../errors/quire-error.js";
import type { SessionStore } from "../storage/ledger/session-store.js";
import type { WriteKey } from "../storage/stored-answers.js";
import type { SessionWatches } from "./session-watches.js";

/** What waits is held in memory, whole. */
const bounds = { ofSession: 100, ofServer: 1_000, bytes: 16 * 1024 * 1024 };

type Key = Pick<WriteKey<never>, "tenantId" | "method" | "requestId">;

/** Those who wait for a lease at this server, for each session in the order in which they came. */
export class LeaseLines {
  private readonly lines = new Map<string, Waiter[]>();
  private waiting = 0;
  private bytes = 0;

  constructor(
    private readonly sessions: Pick<SessionStore, "find" | "isAnswered">,
    private readonly watches: Pick<SessionWatches, "open">,
    private readonly timers: Timers,
    private readonly max = bounds,
  ) {}

  /** How many wait. */
  get size(): number {
    return this.waiting;
  }

  /**
   * Begins a turn as soon as its session is free and those who came before have had it. Where too many wait, it does not wait. A request
   * that was answered before, here or meanwhile, waits for nobody.
   */
  async wait<Answer>(
    key: Key,
    name: string,
    bytes: number,
    begin: (session: string) => Promise<Answer>,
    stepAside: () => AbortSignal | undefined,
  ): Promise<Answer> {
    const found = await this.sessions.find(key.tenantId, name);
    if (!found || (await this.sessions.isAnswered(key))) return begin(name);
    const { id } = found.row;
    const lineKey = `${key.tenantId}/${id}`;
    if (!this.lines.has(lineKey)) {
      const tried = await unlessBusy(() => begin(id));
      if ("answer" in tried) return tried.answer;
    }
    const line = this.lines.get(lineKey) ?? [];
    if (!this.hasRoom(line, bytes)) return begin(id);
    const waiter = new Waiter(key.requestId);
    this.lines.set(lineKey, line);
    line.push(waiter);
    this.waiting += 1;
    this.bytes += bytes;
    try {
      const signal = stepAside();
      await waiter.untilFirst(line, signal);
      const answer = await this.untilFree(key.tenantId, id, () => begin(id), signal);
      for (const other of line) if (other.isSame(waiter)) other.letThrough();
      return answer;
    } finally {
      this.waiting -= 1;
      this.bytes -= bytes;
      line.splice(line.indexOf(waiter), 1);
      if (line.length === 0) this.lines.delete(lineKey);
      line[0]?.wake();
    }
  }

  private hasRoom(line: readonly Waiter[], bytes: number): boolean {
    const { ofSession, ofServer, bytes: mostBytes } = this.max;
    return line.length < ofSession && this.waiting < ofServer && this.bytes + bytes <= mostBytes;
  }

  /** Tries again whenever the session's lease has changed, on whatever server, and when it expires. */
  private async untilFree<Answer>(
    tenantId: string,
    sessionId: string,
    begin: () => Promise<Answer>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const found = await this.sessions.find(tenantId, sessionId);
    if (!found) return begin();
    const watch = this.watches.open(found.row, signal);
    try {
      for (;;) {
        const tried = await unlessBusy(begin);
        if ("answer" in tried) return tried.answer;
        const timer = this.timers.after(tried.retryAfterMs, watch.wake);
        await watch.wait();
        timer.cancel();
        signal?.throwIfAborted();
      }
    } finally {
      watch.close();
    }
  }
}

class Waiter {
  private isAnswered = false;
  private resume = () => {};

  constructor(private readonly requestId: string) {}

  /** Whether it is the same request, sent again. */
  isSame(other: Waiter): boolean {
    return other !== this && this.requestId !== "" && other.requestId === this.requestId;
  }

  letThrough(): void {
    this.isAnswered = true;
    this.wake();
  }

  wake(): void {
    this.resume();
  }

  async untilFirst(line: readonly Waiter[], signal: AbortSignal | undefined): Promise<void> {
    while (line[0] !== this && !this.isAnswered) {
      const woken = new Promise<void>((resolve) => {
        this.resume = resolve;
      });
      await (signal ? untilAborted(woken, signal) : woken);
    }
  }
}

async function unlessBusy<Answer>(
  begin: () => Promise<Answer>,
): Promise<{ readonly answer: Answer } | { readonly retryAfterMs: number }> {
  try {
    return { answer: await begin() };
  } catch (error) {
    if (!(error instanceof QuireError) || error.reason !== "SESSION_BUSY") throw error;
    return { retryAfterMs: error.retryAfterMs! };
  }
}
