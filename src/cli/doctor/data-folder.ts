import { existsSync } from "node:fs";
import { rm, statfs, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Check, fail, ok, warn } from "./check.js";

const mebibyte = 1024 * 1024;

/** The folder itself, or, while it is not there, the one in which the server would make it. */
export function existingFolder(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingFolder(dirname(folder));
}

export async function checkDataFolder(folder: string): Promise<readonly Check[]> {
  const existing = existingFolder(folder);
  const probe = join(existing, `.quire-doctor-${process.pid}`);
  try {
    await writeFile(probe, "");
    await rm(probe);
  } catch (error) {
    const hint = "give this user the right to write there, or set --database file:<path>";
    return [fail("Data folder", (error as Error).message, hint)];
  }
  const found = existing === folder ? folder : `${folder} (the server will make it)`;
  return [ok("Data folder", `can be written: ${found}`), await checkDisk(existing)];
}

async function checkDisk(folder: string): Promise<Check> {
  const { bavail, bsize } = await statfs(folder);
  const free = Math.floor((bavail * bsize) / mebibyte);
  const found = `${free.toLocaleString("en-US")} MiB free`;
  if (free < 64) return fail("Disk", found, "make room: a full disk stops all writes");
  return free < 1024
    ? warn("Disk", found, "make room soon: a full disk stops all writes")
    : ok("Disk", found);
}
