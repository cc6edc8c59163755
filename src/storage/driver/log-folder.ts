import { Offload, task } from "../../offload/offload.js";
import type { foldLog } from "./fold-log.js";
import type { Gate } from "./gate.js";
import { LogFile } from "./log-file.js";

const folding = task<typeof foldLog>("src/storage/driver/fold-log.ts", "foldLog");

/** The log is looked at after so many transactions. */
const lookEvery = 8;

/**
 * Folds the write-ahead log into the database's file when it has grown long, in a thread of its own: the copying and two waits for the
 * disk would hold up the event loop. Most of it is folded while others write; for what they wrote meanwhile the gate is held, so that
 * SQLite finds nothing left and begins the log anew.
 */
export class LogFolder {
  private readonly offload = new Offload(1);
  private readonly log: LogFile;
  private transactions = 0;
  private folding: Promise<void> | undefined;

  constructor(
    private readonly path: string,
    pageBytes: number,
    private readonly pages: number,
    private readonly gate: Gate,
  ) {
    this.log = new LogFile(path, pageBytes);
  }

  /** To be called when a transaction has ended. */
  look(): void {
    if (this.folding || ++this.transactions % lookEvery !== 0 || !this.log.hasPages(this.pages)) return;
    // What cannot be folded now is tried again, and at last by a commit: see `wal_autocheckpoint`.
    this.folding = this.fold()
      .catch(() => undefined)
      .finally(() => {
        this.folding = undefined;
      });
  }

  /** Resolves when nothing is being folded. */
  async idle(): Promise<void> {
    await this.folding;
  }

  async close(): Promise<void> {
    await this.folding;
    await this.offload.close();
    this.log.close();
  }

  private async fold(): Promise<void> {
    const fold = () => this.offload.run(folding, this.path);
    await fold();
    await fold();
    await this.gate.enter();
    try {
      await fold();
    } finally {
      this.gate.leave();
    }
  }
}
