import { systemWords } from "../../config/system-words.js";

/** Why a database cannot be used, in words for whoever named it: what is wrong, and what to do about it. */
export class UnusableDatabase extends Error {
  override readonly name = "UnusableDatabase";

  /** What the system refused. */
  static refused(what: string, error: unknown): UnusableDatabase {
    if (error instanceof UnusableDatabase) return error;
    const { code = "" } = error as NodeJS.ErrnoException;
    const whatToDo = advice[code] ?? "name another path";
    return new UnusableDatabase(`${what} (${systemWords(error)}); ${whatToDo}`, { cause: error });
  }

  static noRoom(path: string): UnusableDatabase {
    return new UnusableDatabase(`too little room is left on the disk of ${path}; ${room}`);
  }
}

const rights = "give this user the right to write there, or name another path";
const room = "make room there, or name a path on another disk";
const advice: Readonly<Record<string, string>> = {
  EACCES: rights,
  EPERM: rights,
  EROFS: "name a path that can be written",
  ENOSPC: room,
  EDQUOT: room,
};
