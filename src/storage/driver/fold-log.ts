import { existsSync } from "node:fs";
import { openDatabase } from "./database-sync.js";

/** Writes what is in the log of a database into its file, as far as nobody reads it, and waits for the disk. Holds up nobody who reads or writes. */
export function foldLog(path: string): void {
  if (!existsSync(path)) return;
  const database = openDatabase(path);
  try {
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } finally {
    database.close();
  }
}
