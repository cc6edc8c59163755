import { leadingWord } from "./sql-text.js";

/** Stands for every table, where it is not clear which one a statement writes to. */
export const anyTable = "*";

const reading = new Set([
  "select",
  "values",
  "explain",
  "savepoint",
  "release",
  "begin",
  "commit",
  "rollback",
]);
const target =
  /\b(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update\s+(?:or\s+\w+\s+)?(?!set\b)|delete\s+from)\s*(?:[`"]?main[`"]?\.)?[`"]?(\w+)/gi;

/** The table that a statement writes to; undefined where it only reads. Triggers and cascades write to others besides. */
export function writtenTable(sql: string): string | undefined {
  const word = leadingWord(sql);
  if (reading.has(word)) return undefined;
  const tables = new Set([...sql.matchAll(target)].map(([, table]) => table!.toLowerCase()));
  const [only] = tables;
  return only !== undefined && tables.size === 1 ? only : anyTable;
}

/** Counts the writes of one connection, table by table. */
export class TableVersions {
  private readonly counts = new Map<string, number>();
  private anyCount = 0;

  wrote(table: string): void {
    if (table === anyTable) this.anyCount++;
    else this.counts.set(table, (this.counts.get(table) ?? 0) + 1);
  }

  /** The same number as before only if none of the tables was written to since. */
  of(tables: readonly string[]): number {
    let sum = this.anyCount;
    for (const table of tables) sum += this.counts.get(table) ?? 0;
    return sum;
  }
}
