import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createQuire, type Quire } from "../../src/index.js";
import { type Database, openDatabase } from "../../src/storage/database.js";
import { user } from "../support/messages.js";
import type { Postgres } from "../support/postgres.js";

const prefix = join(tmpdir(), "quire-test-");

/** Lets the time of a session's lease be over, for every server, without waiting for it. */
export async function expireLease(database: Database, sessionId: string): Promise<void> {
  await database.sqlTransaction((sql) =>
    sql.execute("UPDATE sessions SET lease_expires_us = 1 WHERE id = ?", [sessionId]),
  );
}

export interface LeasedQuire {
  readonly quire: Quire;
  readonly url: string;
  /** A session with one turn. */
  session(): Promise<{ readonly id: string; readonly head: string }>;
  expire(sessionId: string): Promise<void>;
  close(): Promise<void>;
}

export interface LeasedDatabase {
  readonly name: string;
  readonly isMissing: boolean;
  /** The address of an empty one. */
  url(): Promise<string>;
}

export function leasedDatabases(postgres: Postgres | undefined): LeasedDatabase[] {
  return [
    { name: "SQLite", isMissing: false, url: async () => `file:${join(mkdtempSync(prefix), "quire.db")}` },
    { name: "PostgreSQL", isMissing: !postgres, url: () => postgres!.createDatabase() },
  ];
}

/** An engine, and a way to let leases expire. */
export async function leasedQuire(database: LeasedDatabase): Promise<LeasedQuire> {
  const url = await database.url();
  const quire = await createQuire({ database: url, primeFile: "", logLevel: "silent" });
  const storage = await openDatabase({ url, poolSize: 2 });
  return {
    async close() {
      await quire.close();
      await storage.close();
      if (url.startsWith("file:")) rmSync(dirname(url.slice("file:".length)), { recursive: true });
    },
    quire,
    url,
    expire: (sessionId) => expireLease(storage, sessionId),
    async session() {
      const { session } = await quire.ledger.createSession({});
      const { headTurnId } = await quire.ledger.recordTurn({
        session: session!.id,
        messages: [user("first")],
      });
      return { id: session!.id, head: headTurnId };
    },
  };
}
