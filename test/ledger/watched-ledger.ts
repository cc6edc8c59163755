import { onTestFinished } from "vitest";
import type { SessionWatch } from "../../src/ledger/session-watch.js";
import { type Database, openDatabase } from "../../src/storage/database.js";
import { OpenLedger } from "../storage/ledger/open-ledger.js";

/** What a test sees of the watches' use of the database. */
export interface Seen {
  queries: number;
  readonly failures: unknown[];
  /** While set, every query of the watches fails with it. */
  down: Error | undefined;
}

export interface WatchedLedger {
  readonly ledger: OpenLedger;
  readonly seen: Seen;
  /** One look for what others wrote; how many queries it took. */
  poll(): Promise<number>;
  /** A watch from the session's head on, opened when nothing is left to look at. */
  watch(session: string, signal?: AbortSignal): Promise<CountedWatch>;
}

/** A ledger of the running test whose watches look for what others wrote only when the test says so. */
export async function watchedLedger(url: string): Promise<WatchedLedger> {
  const seen: Seen = { queries: 0, failures: [], down: undefined };
  const database = await openDatabase({ url, poolSize: 4 });
  const options = { watchPollMs: 60_000, onWatchFailure: (error: unknown) => seen.failures.push(error) };
  const ledger = new OpenLedger(counted(database, seen), options);
  onTestFinished(() => ledger.close());
  const { watches, sessions } = ledger.deps;
  const poll = async () => {
    const before = seen.queries;
    await watches.poll();
    return seen.queries - before;
  };
  const watch = async (session: string, signal?: AbortSignal) => {
    const found = await sessions.find("default", session);
    return new CountedWatch(watches.open(found!.row, signal));
  };
  return { ledger, seen, poll, watch };
}

function counted(database: Database, seen: Seen): Database {
  const count = async <T>(work: () => Promise<T>): Promise<T> => {
    seen.queries += 1;
    if (seen.down) throw seen.down;
    return work();
  };
  const { sqlReader } = database;
  return {
    ...database,
    changeMark: () => count(() => database.changeMark()),
    sqlReader: { ...sqlReader, query: (text, args) => count(() => sqlReader.query(text, args)) },
  };
}

/** A watch that counts how often it is woken. */
export class CountedWatch {
  wakes = 0;
  private isClosed = false;
  private onWake = () => {};

  constructor(readonly watch: SessionWatch) {
    void this.follow();
  }

  get sequence(): number {
    return this.watch.feed.sequence;
  }

  /** Resolves when it was woken so often. */
  async woken(times: number): Promise<void> {
    while (this.wakes < times) {
      await new Promise<void>((resolve) => {
        this.onWake = resolve;
      });
    }
  }

  close(): void {
    this.isClosed = true;
    this.watch.close();
    this.watch.wake();
  }

  private async follow(): Promise<void> {
    for (;;) {
      await this.watch.wait();
      if (this.isClosed) return;
      this.wakes += 1;
      this.onWake();
    }
  }
}
