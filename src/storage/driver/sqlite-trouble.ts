import { dirname } from "node:path";
import { systemWords } from "../../config/system-words.js";
import { hasRoom } from "./has-room.js";
import { folderRefusal } from "./prepare-database-file.js";
import { UnusableDatabase } from "./unusable-database.js";

const busy = 5;
const readOnly = 8;
const inputOutput = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;

/** Why the file at `path` cannot be used as a database, from what the work on it threw. */
export function sqliteTrouble(path: string, error: unknown): UnusableDatabase {
  if (error instanceof UnusableDatabase) return error;
  const because = (words: string) => new UnusableDatabase(words, { cause: error });
  switch (primaryCode(error)) {
    case busy:
      return because(`another process keeps ${path} locked; stop it, or name another file`);
    case readOnly:
    case cannotOpen:
      return folderRefusal(dirname(path)) ?? because(`SQLite cannot open ${path}; name another file`);
    // The index of the log is mapped into memory, and fails as a disk does.
    case inputOutput:
      return hasRoom(dirname(path))
        ? because(`the disk of ${path} fails (${systemWords(error)})`)
        : UnusableDatabase.noRoom(path);
    case full:
      return UnusableDatabase.noRoom(path);
    case corrupt:
      return because(`${path} is damaged; restore a backup`);
    case notADatabase:
      return because(`${path} is not an SQLite database; name another file`);
    default:
      return because(`${path}: ${systemWords(error)}`);
  }
}

interface Wrapped {
  readonly errcode?: number;
  readonly extendedCode?: number;
  readonly kind?: string;
  readonly cause?: unknown;
}

/** SQLite's own code: of what the driver threw, of what the adapter made of it, or of what a migration failed with. */
function primaryCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { errcode, extendedCode, kind, cause } = error as Wrapped;
  const code = errcode ?? extendedCode ?? (kind === "SocketTimeout" ? busy : undefined);
  return code === undefined ? primaryCode(cause) : code & 0xff;
}
