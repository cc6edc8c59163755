import { closeSync, openSync, readSync } from "node:fs";

const saltBytes = 8;
const headerBytes = 32;
const headerSaltAt = 16;
const frameHeaderBytes = 24;
const frameSaltAt = 8;

/**
 * SQLite's write-ahead log, looked at from outside: its length is not that of its file, which SQLite writes anew from its beginning
 * once all of it is folded in. What is of this time has the salt of the file's header. (https://sqlite.org/walformat.html)
 *
 * SQLite holds no locks on this file, so that it may be opened and closed beside it; those on the others would be lost.
 */
export class LogFile {
  private readonly path: string;
  private readonly pageBytes: number;
  private file: number | undefined;

  constructor(databasePath: string, pageBytes: number) {
    this.path = `${databasePath}-wal`;
    this.pageBytes = pageBytes;
  }

  /** Whether there are so many pages in it, or more. False where it cannot be read. */
  hasPages(count: number): boolean {
    try {
      this.file ??= openSync(this.path, "r");
      const frameAt = headerBytes + (count - 1) * (frameHeaderBytes + this.pageBytes);
      const salt = this.read(this.file, frameAt + frameSaltAt);
      return salt.length === saltBytes && salt.equals(this.read(this.file, headerSaltAt));
    } catch {
      return false;
    }
  }

  close(): void {
    if (this.file !== undefined) closeSync(this.file);
    this.file = undefined;
  }

  private read(file: number, position: number): Buffer {
    const bytes = Buffer.alloc(saltBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, saltBytes, position));
  }
}
