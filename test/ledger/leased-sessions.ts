import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
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

/** To be called outside of tests: what was made is removed when all of them have run. */
export function leasedDatabases(postgres: Postgres | undefined): LeasedDatabase[] {
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  const url = async () => {
    const folder = mkdtempSync(prefix);
    folders.push(folder);
    return `file:${join(folder, "quire.db")}`;
  };
  return [
    { name: "SQLite", isMissing: false, url },
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
