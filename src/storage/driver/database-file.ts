import { statSync } from "node:fs";
import { DriverAdapterError } from "@prisma/driver-adapter-utils";

export type WhyLost = "deleted" | "replaced";

/** What would be written now would go into a file that nobody finds again. */
export class LostDatabase extends DriverAdapterError {
  constructor(readonly why: WhyLost) {
    super({ kind: "ConnectionClosed", originalMessage: `the database file was ${why}` });
  }
}

const lookAgainMs = 100;

/**
 * Whether the file that SQLite has open, and its log, are still the ones at their paths. SQLite writes on into files without
 * a name and does not notice. Lost is lost: a file that comes back may have been changed by others meanwhile.
 */
export class DatabaseFile {
  private readonly losing = new AbortController();
  private lookedMs = Number.NEGATIVE_INFINITY;
  private readonly files: { readonly path: string; identity: string | undefined }[];

  /** To be made when the database is open. SQLite makes the log with the first transaction. */
  constructor(path: string) {
    this.files = [path, `${path}-wal`].map((each) => {
      const identity = identityOf(each);
      return { path: each, identity: identity === unknown ? undefined : identity };
    });
  }

  /** Aborted once it is lost, with a LostDatabase as its reason. */
  get lost(): AbortSignal {
    return this.losing.signal;
  }

  /** As `assertInPlace`, but looks again only after a while: for what may be lost together with its file. */
  assertLatelyInPlace(): void {
    if (performance.now() - this.lookedMs >= lookAgainMs) this.assertInPlace();
    else this.assertNotLost();
  }

  /** Looks only where it was not lost before. */
  assertInPlace(): void {
    this.assertNotLost();
    this.lookedMs = performance.now();
    for (const file of this.files) {
      const found = identityOf(file.path);
      if (found === unknown) continue;
      file.identity ??= found;
      if (found === file.identity) continue;
      this.losing.abort(new LostDatabase(found === undefined ? "deleted" : "replaced"));
      this.assertNotLost();
    }
  }

  assertNotLost(): void {
    if (this.lost.aborted) throw this.lost.reason;
  }
}

/** A path that cannot be looked at now says nothing about the file. */
const unknown = "unknown";

/** Device and inode; undefined where there is no file. */
function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}/${found.ino}`;
  } catch {
    return unknown;
  }
}
