import { accessSync, closeSync, constants, mkdirSync, openSync, rmdirSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { hasRoom } from "./has-room.js";
import { UnusableDatabase } from "./unusable-database.js";

/** Removes what was made for a database file; what was there before stays. */
export type TakeBack = () => void;

/**
 * Makes the folders and an empty file where there are none, so that the system itself says why it refuses: SQLite says only that it
 * cannot open. Throws an UnusableDatabase, and then has made nothing.
 */
export function prepareDatabaseFile(path: string): TakeBack {
  const steps: TakeBack[] = [];
  const takeBack = () => {
    for (const step of steps.reverse()) attempt(step);
  };
  try {
    makeFolders(dirname(path), steps);
    if (!makeFile(path, steps)) assertUsable(path);
    else if (!hasRoom(dirname(path))) throw UnusableDatabase.noRoom(path);
  } catch (error) {
    takeBack();
    throw error;
  }
  return takeBack;
}

/** Throws an UnusableDatabase for what is no file, or cannot be written; what is not there can be used. */
export function assertUsable(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      const found = statSync(file, { throwIfNoEntry: false });
      if (!found) continue;
      if (found.isDirectory()) throw new UnusableDatabase(`${file} is a folder; name a file in it`);
      if (!found.isFile()) throw new UnusableDatabase(`${file} is not a regular file; name another path`);
      // Not by opening it: closing it again would free the locks that this process holds on it.
      accessSync(file, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw UnusableDatabase.refused(`${file} cannot be written`, error);
    }
  }
}

/** Why a database in this folder has no place for its log; undefined where it has one. */
export function folderRefusal(folder: string): UnusableDatabase | undefined {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return UnusableDatabase.refused(`nothing can be written in the folder ${folder}`, error);
  }
}

/** Node's own recursive mkdir never ends where the system will not have the folder in one that is there, as in /proc. */
function makeFolders(folder: string, steps: TakeBack[]): void {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found?.isDirectory()) return;
    if (found) throw new UnusableDatabase(`${folder} is not a folder; name another path`);
    makeFolders(dirname(folder), steps);
    mkdirSync(folder);
    steps.push(() => rmdirSync(folder));
  } catch (error) {
    // Another server that starts at the same time was faster.
    if (isThere(error)) return;
    throw UnusableDatabase.refused(`the folder ${folder} cannot be made`, error);
  }
}

/** Whether it was made; false where something is there. */
function makeFile(path: string, steps: TakeBack[]): boolean {
  try {
    closeSync(openSync(path, "wx", 0o644));
  } catch (error) {
    if (isThere(error)) return false;
    throw UnusableDatabase.refused(`the file ${path} cannot be made`, error);
  }
  for (const end of ["", "-wal", "-shm", "-journal"])
    steps.push(() => rmSync(`${path}${end}`, { force: true }));
  return true;
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "EEXIST";
}

function attempt(step: TakeBack): void {
  try {
    step();
  } catch {
    // What is no longer empty, or cannot be removed, stays.
  }
}
