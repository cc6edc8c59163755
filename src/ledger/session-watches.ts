import type { HeadMove } from "../domain/session.js";
import type { HeadLog } from "../storage/ledger/head-log.js";
import type { SessionLease } from "../storage/ledger/rows.js";
import { WatchPoll } from "../storage/watch-poll.js";
import { limitReached, limits } from "./limits.js";
import { maxTail, SessionFeed } from "./session-feed.js";
import { SessionWatch } from "./session-watch.js";
import { viewHeadMove } from "./views.js";
import { WakeQueue } from "./wake-queue.js";

export interface SessionWatchesOptions {
  readonly pollMs: number;
  readonly onFailure: (error: unknown) => void;
  readonly watchers?: number;
  readonly serverWatchers?: number;
}

/** A session to watch, as it was just read. */
export interface WatchedSession extends SessionLease {
  readonly tenantId: string;
  readonly id: string;
  readonly label: string;
  readonly headSequence: number;
}

/** How many moves one query reads. */
const maxMovesRead = 1_000;
/** Feeds that hold moves at the same time; beyond that watchers read the log. */
const maxTails = 1_000;

function feedOf(session: WatchedSession): SessionFeed {
  const { tenantId, id, headSequence, leaseTurnId, leaseExpiresUs, leaseSeconds, leaseHolder } = session;
  return new SessionFeed(tenantId, id, headSequence, {
    leaseTurnId,
    leaseExpiresUs,
    leaseSeconds,
    leaseHolder,
  });
}

const keyOf = (tenantId: string, sessionId: string) => `${tenantId}/${sessionId}`;

/**
 * All who watch sessions on this server. What they are told is read from the head log, once for all watchers of a
 * session; a signal only says where to look. What this server writes is signalled. What others write is found by one look
 * at the database in each interval, whose cost does not depend on the number of watchers while nobody else writes.
 */
export class SessionWatches {
  private readonly feeds = new Map<string, SessionFeed>();
  /** Feeds that may be behind the log. */
  private readonly due = new Set<SessionFeed>();
  private readonly tails = new Set<SessionFeed>();
  private readonly wakes = new WakeQueue(() => this.forgetTails());
  private readonly polling: WatchPoll;
  private looking: Promise<void> | undefined;
  private mark: string | undefined;
  private watchers = 0;
  private isClosed = false;

  constructor(
    private readonly log: HeadLog,
    private readonly options: SessionWatchesOptions,
  ) {
    const { pollMs: intervalMs, onFailure } = options;
    this.polling = new WatchPoll({ intervalMs, work: () => this.lookForOthers(), onFailure });
  }

  /** What is held now: all zero when nobody watches. */
  get size() {
    const { feeds, due, tails, wakes, watchers } = this;
    return { sessions: feeds.size, watchers, due: due.size, tails: tails.size, wakes: wakes.length };
  }

  /** Says that a session's head or lease may have changed, or that it is gone. */
  moved(tenantId: string, sessionId: string): void {
    const feed = this.feeds.get(keyOf(tenantId, sessionId));
    if (feed) this.lookAt(feed);
  }

  /** Watches until it is closed. Whatever is committed after the session was read wakes the watch. */
  open(session: WatchedSession, signal: AbortSignal | undefined): SessionWatch {
    const key = keyOf(session.tenantId, session.id);
    const feed = this.feeds.get(key) ?? feedOf(session);
    const { watchers: max = limits.watchers, serverWatchers = limits.server_watchers } = this.options;
    if (feed.watchers.size >= max) throw limitReached("watchers", max, session.label);
    if (this.watchers >= serverWatchers) throw limitReached("server_watchers", serverWatchers, session.label);
    this.feeds.set(key, feed);
    this.watchers += 1;
    const watch = new SessionWatch(feed, signal, () => {
      this.watchers -= 1;
      this.wakes.remove(watch.wake);
      if (feed.watchers.size === 0) this.drop(key, feed);
      if (this.watchers === 0) this.polling.stop();
    });
    this.polling.start();
    // A move between the read of the session and this moment was signalled to nobody.
    this.lookAt(feed);
    return watch;
  }

  /** One look for what others wrote, now. Never fails: what could not be looked at is looked at the next time. */
  poll(): Promise<void> {
    return this.polling.run();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.polling.stop();
    await this.looking?.catch(() => undefined);
  }

  private drop(key: string, feed: SessionFeed): void {
    this.feeds.delete(key);
    this.due.delete(feed);
    this.tails.delete(feed);
  }

  /**
   * A mark that is the same as before says that nobody committed since. The mark is taken before the look: what is committed
   * between the two is seen by the look, what comes after it changes the next mark. So nothing is missed, in whatever
   * order transactions commit, and no clock or id is relied on. Feeds stay due until a look at them succeeds.
   */
  private async lookForOthers(): Promise<void> {
    if (this.isClosed) return;
    const mark = await this.log.changeMark();
    if (mark !== this.mark) for (const feed of this.feeds.values()) this.due.add(feed);
    this.mark = mark;
    await this.look();
  }

  private lookAt(feed: SessionFeed): void {
    this.due.add(feed);
    // The poll tries again, and says what is wrong.
    this.look().catch(() => undefined);
  }

  private look(): Promise<void> {
    if (this.due.size === 0) return Promise.resolve();
    this.looking ??= this.lookAtDue();
    return this.looking;
  }

  private async lookAtDue(): Promise<void> {
    try {
      while (this.due.size > 0 && !this.isClosed) {
        const feeds = [...this.due].filter((feed) => !feed.isDeleted);
        this.due.clear();
        await this.advance(feeds).catch((error: unknown) => {
          for (const feed of feeds) if (feed.watchers.size > 0) this.due.add(feed);
          throw error;
        });
      }
    } finally {
      this.looking = undefined;
    }
  }

  /** Reads what the feeds lack, and wakes their watchers. */
  private async advance(feeds: readonly SessionFeed[]): Promise<void> {
    if (feeds.length === 0) return;
    const behind: { readonly after: SessionFeed; readonly upTo: number }[] = [];
    for (const { tenantId, sessionId, sequence, lease } of await this.log.findChanged(feeds)) {
      const feed = this.feeds.get(keyOf(tenantId, sessionId));
      if (!feed) continue;
      feed.lease = lease;
      if (sequence !== null && sequence > feed.sequence) {
        behind.push({ after: feed, upTo: sequence });
      } else {
        feed.isDeleted = sequence === null;
        this.wake(feed);
      }
    }
    const isNear = ({ after, upTo }: (typeof behind)[number]) => upTo - after.sequence <= maxTail;
    for (const { after: feed, upTo } of behind.filter((one) => !isNear(one))) this.tell(feed, upTo, []);
    const near = behind.filter(isNear);
    const chunk = Math.floor(maxMovesRead / maxTail);
    for (let at = 0; at < near.length; at += chunk) {
      const ranges = near.slice(at, at + chunk);
      const moves = new Map(
        ranges.map(({ after }) => [keyOf(after.tenantId, after.sessionId), [] as HeadMove[]]),
      );
      for (const row of await this.log.movesBetween(ranges))
        moves.get(keyOf(row.tenantId, row.sessionId))!.push(viewHeadMove(row));
      for (const { after: feed, upTo } of ranges)
        this.tell(feed, upTo, moves.get(keyOf(feed.tenantId, feed.sessionId))!);
    }
  }

  private tell(feed: SessionFeed, sequence: number, moves: readonly HeadMove[]): void {
    feed.advance(sequence, moves);
    if (this.tails.size >= maxTails) this.forgetTails();
    if (feed.watchers.size > 0) this.tails.add(feed);
    this.wake(feed);
  }

  private wake(feed: SessionFeed): void {
    for (const wake of feed.watchers) this.wakes.add(wake);
  }

  /** Who was woken has taken what it needs; who is slower reads the log when its client has room again. */
  private forgetTails(): void {
    for (const feed of this.tails) feed.forgetTail();
    this.tails.clear();
  }
}
