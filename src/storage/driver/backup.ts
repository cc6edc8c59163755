import { existsSync, statSync } from "node:fs";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { copyDatabase, type Database, openDatabase } from "./database-sync.js";
import { sqliteTrouble } from "./sqlite-trouble.js";
import { UnusableDatabase } from "./unusable-database.js";

export interface BackupOptions {
  /** Called after each step with the share that is done, 0 to 1. */
  readonly onProgress?: (done: number) => void;
  readonly pagesPerStep?: number;
}

/**
 * Copies the database at `path` to `target` while others read and write it; the copy is the state at the start.
 * `target` appears, or is replaced, only when the copy is whole and on disk. Throws an UnusableDatabase.
 */
export async function backup(path: string, target: string, options: BackupOptions = {}): Promise<void> {
  const source = openSnapshot(path);
  const partial = `${target}.partial`;
  try {
    await makeEmpty(target, partial);
    await copyDatabase(source, partial, {
      rate: options.pagesPerStep ?? 1_000,
      progress: ({ totalPages, remainingPages }) => options.onProgress?.(1 - remainingPages / totalPages),
    });
    await flush(partial);
    await rename(partial, target);
  } catch (error) {
    throw sqliteTrouble(target, error);
  } finally {
    source.close();
    await rm(partial, { force: true }).catch(() => undefined);
  }
}

/** An open read keeps the snapshot: without it every write of another connection would start the copy over. */
function openSnapshot(path: string): Database {
  if (!existsSync(path))
    throw new UnusableDatabase(`there is no database at ${path}; name it with --database file:<path>`);
  let source: Database | undefined;
  try {
    source = openDatabase(path);
    source.exec("PRAGMA busy_timeout = 5000; BEGIN; SELECT 1 FROM sqlite_master");
    return source;
  } catch (error) {
    source?.close();
    throw sqliteTrouble(path, error);
  }
}

async function makeEmpty(target: string, partial: string): Promise<void> {
  try {
    const found = statSync(target, { throwIfNoEntry: false });
    if (found && !found.isFile())
      throw new UnusableDatabase(`${target} is not a regular file; name another path for the copy`);
    await writeFile(partial, "");
  } catch (error) {
    throw UnusableDatabase.refused(`the copy ${target} cannot be made`, error);
  }
}

async function flush(path: string): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
