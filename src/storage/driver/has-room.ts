import { statfsSync } from "node:fs";

/** An empty database, its log and its index, with some to spare. */
const neededBytes = 1024 * 1024;

/** Whether a database can be made on the disk of a folder; one that does not say how much is free may have room. */
export function hasRoom(folder: string): boolean {
  try {
    const { blocks, bfree, bsize } = statfsSync(folder);
    return blocks === 0 || bfree * bsize >= neededBytes;
  } catch {
    return true;
  }
}
