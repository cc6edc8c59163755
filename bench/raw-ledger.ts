import { randomUUID } from "node:crypto";
import { openDatabase } from "../src/storage/driver/database-sync.js";
import { encodeMessages } from "../src/thread/message-codec.js";
import { Exchanges } from "./ledger-fixture.js";

/** The floor of writing: a turn, its messages, the head and the head log by prepared statements, one commit a turn. */
export class RawLedger {
  private readonly database;
  private readonly exchanges = new Exchanges(11);

  constructor(path: string) {
    this.database = openDatabase(path);
    this.database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
      CREATE TABLE sessions (id TEXT PRIMARY KEY, head TEXT, depth INTEGER);
      CREATE TABLE turns (id TEXT PRIMARY KEY, branch TEXT, depth INTEGER, status TEXT, created INTEGER, UNIQUE (branch, depth));
      CREATE TABLE messages (turn TEXT, first INTEGER, branch TEXT, depth INTEGER, wire BLOB, PRIMARY KEY (turn, first));
      CREATE INDEX by_depth ON messages (branch, depth, first);
      CREATE TABLE moves (session TEXT, sequence INTEGER, head TEXT, PRIMARY KEY (session, sequence));
      INSERT INTO sessions VALUES ('s', NULL, 0);`);
  }

  append(turns: number, messageBytes: number): void {
    const db = this.database;
    const read = db.prepare("SELECT head, depth FROM sessions WHERE id = 's'");
    const turn = db.prepare("INSERT INTO turns VALUES (?, 'b', ?, 'done', ?)");
    const message = db.prepare("INSERT INTO messages VALUES (?, 0, 'b', ?, ?)");
    const head = db.prepare("UPDATE sessions SET head = ?, depth = ? WHERE id = 's'");
    const move = db.prepare("INSERT INTO moves VALUES ('s', ?, ?)");
    for (let at = 0; at < turns; at++) {
      const { wire } = encodeMessages(this.exchanges.next(messageBytes));
      const id = randomUUID();
      db.exec("BEGIN IMMEDIATE");
      const [{ depth }] = read.all() as [{ depth: number }];
      turn.run(id, depth + 1, Date.now());
      message.run(id, depth + 1, wire);
      head.run(id, depth + 1);
      move.run(depth + 1, id);
      db.exec("COMMIT");
    }
  }

  close(): void {
    this.database.close();
  }
}
