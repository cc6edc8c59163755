import type { Database } from "./database.js";
import { SliceRows } from "./slice-rows.js";

/** Rows of a table that are older than a time, by the column that holds it and has an index. */
export interface OldRows {
  readonly table: string;
  readonly key: readonly string[];
  readonly column: string;
  readonly olderThanUs: bigint;
}

/**
 * Deletes rows, a few in each transaction, with a turn of the event loop between them: whatever waits goes first. What was deleted
 * when it is stopped stays deleted. Nobody waits for the disk: what comes back after a power cut is deleted again.
 */
export async function deleteInSlices(database: Database, rows: OldRows, stop?: AbortSignal): Promise<number> {
  const { table, column, olderThanUs } = rows;
  const key = rows.key.join(", ");
  const text = `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${column} < ? ORDER BY ${column} LIMIT ?)`;
  // What is deleted is overwritten, and SQLite does that in this thread.
  const slice = new SliceRows();
  let deleted = 0;
  while (!stop?.aborted) {
    const rows = slice.count;
    const begun = performance.now();
    const count = await database.unsyncedWrite([{ text, args: [olderThanUs, rows] }]);
    slice.took(performance.now() - begun);
    deleted += count;
    if (count < rows) break;
    await new Promise((turn) => setImmediate(turn));
  }
  return deleted;
}
