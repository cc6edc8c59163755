import { open } from "node:fs/promises";
import { assertUsable } from "../../storage/driver/prepare-database-file.js";
import { type Check, fail, ok } from "./check.js";

/** The beginning of every file that SQLite wrote into. */
const mark = "SQLite format 3\0";
const hint = "make it writable, or name another file: --database file:<path>";

/** Whether the server can use what is at the path of its database. Nothing there is fine, too: it will make the file. */
export async function checkDatabaseFile(path: string): Promise<Check> {
  const name = "Database";
  try {
    assertUsable(path);
    const begin = await beginning(path);
    if (begin === "" || begin === mark) return ok(name, begin ? `a database: ${path}` : `empty: ${path}`);
    return fail(name, `${path} is not an SQLite database`, hint);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return ok(name, `not there yet: ${path}`);
    // Without the advice, which is the hint here.
    return fail(name, message.split("; ")[0]!, hint);
  }
}

async function beginning(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mark.length), 0, mark.length, 0);
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}
