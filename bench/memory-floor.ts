import { openDatabase } from "../src/storage/driver/database-sync.js";

/** The least that an edit could cost: one row, on disk. */
export class RawInserts {
  private readonly database;
  private readonly statement;

  constructor(path: string) {
    this.database = openDatabase(path);
    this.database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE edits (id INTEGER PRIMARY KEY, text TEXT)",
    );
    this.statement = this.database.prepare("INSERT INTO edits (text) VALUES (?)");
  }

  insert(text: string): void {
    this.statement.run(text);
  }

  close(): void {
    this.database.close();
  }
}
