import { join } from "node:path";
import { openDatabase } from "../../../src/storage/database.js";
import { findImpossibleRows } from "../../model/check-tables.js";

/** What the database file in a folder itself says: damage, and rows that must not be there. */
export async function databaseFaults(folder: string): Promise<string[]> {
  const database = await openDatabase({ url: `file:${join(folder, "quire.db")}`, poolSize: 2 });
  try {
    const integrity = await database.sqlReader.query("PRAGMA integrity_check", []);
    const damage = integrity.map(([text]) => String(text)).filter((text) => text !== "ok");
    return [...damage, ...(await findImpossibleRows(database))];
  } finally {
    await database.close();
  }
}
