import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { copyDatabase, openDatabase } from "./database-sync.js";

export interface BackupOptions {
  /** Called after each step with the share that is done, 0 to 1. */
  readonly onProgress?: (done: number) => void;
  readonly pagesPerStep?: number;
}

/**
 * Copies the database at `path` to `target` while others read and write it; the copy is the state at the start.
 * `target` appears, or is replaced, only when the copy is whole and on disk.
 */
export async function backup(path: string, target: string, options: BackupOptions = {}): Promise<void> {
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  const partial = `${target}.partial`;
  const source = openDatabase(path);
  try {
    // An open read keeps the snapshot: without it every write of another connection would start the copy over.
    source.exec("PRAGMA busy_timeout = 5000; BEGIN; SELECT 1 FROM sqlite_master");
    await rm(partial, { force: true });
    await copyDatabase(source, partial, {
      rate: options.pagesPerStep ?? 1_000,
      progress: ({ totalPages, remainingPages }) => options.onProgress?.(1 - remainingPages / totalPages),
    });
    await flush(partial);
    await rename(partial, target);
  } finally {
    source.close();
    await rm(partial, { force: true });
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
