import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Check, fail, ok, warn } from "./check.js";

/** The driver, full-text search, and the write-ahead log in the folder where the database is to be. */
export async function checkSqlite(folder: string): Promise<readonly Check[]> {
  try {
    const { openDatabase } = await import("../../storage/driver/database-sync.js");
    const memory = openDatabase(":memory:");
    const version = first(memory.prepare("SELECT sqlite_version() AS value").all());
    const search = attempt(() => memory.exec("CREATE VIRTUAL TABLE probe USING fts5(text)"));
    memory.close();
    return [
      ok("SQLite", version),
      search ? warn("SQLite FTS5", search, "full-text search will not work") : ok("SQLite FTS5", "there"),
      await checkWriteAheadLog(folder, openDatabase),
    ];
  } catch (error) {
    return [
      fail("SQLite", (error as Error).message, "run npm ci again: it brings the driver for this platform"),
    ];
  }
}

async function checkWriteAheadLog(
  folder: string,
  open: typeof import("../../storage/driver/database-sync.js").openDatabase,
): Promise<Check> {
  let probe = "";
  try {
    probe = await mkdtemp(join(folder, ".quire-doctor-"));
    const database = open(join(probe, "probe.db"));
    const mode = first(database.prepare("PRAGMA journal_mode = WAL").all());
    database.close();
    if (mode === "wal") return ok("SQLite WAL", `works in ${folder}`);
    return fail(
      "SQLite WAL",
      `the journal stays "${mode}" in ${folder}`,
      "keep the database on a local disk",
    );
  } catch (error) {
    return fail(
      "SQLite WAL",
      (error as Error).message,
      "keep the database on a local disk that you can write to",
    );
  } finally {
    if (probe) await rm(probe, { recursive: true, force: true });
  }
}

function first(rows: readonly unknown[]): string {
  const [row] = rows;
  return typeof row === "object" && row !== null ? String(Object.values(row)[0]) : "";
}

function attempt(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}
