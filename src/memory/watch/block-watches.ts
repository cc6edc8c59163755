import { QuireError } from "../../errors/quire-error.js";
import type { BlockStore } from "../../storage/memory/block-store.js";
import { WatchPoll } from "../../storage/watch-poll.js";
import type { BlockWriter } from "../blocks/block-writer.js";

const maxWatchers = 10_000;

export interface BlockWatchesOptions {
  readonly pollMs: number;
  readonly onFailure: (error: unknown) => void;
}

/** One watcher. What wakes it between two waits is not lost; it holds no events of its own. */
export interface BlockWatch {
  /** Resolves when there may be news, or when the caller goes away. */
  wait(): Promise<void>;
  close(): void;
}

/**
 * All who watch blocks on this server. They read the revisions themselves; a signal only says that there may be new ones. What this
 * server writes is signalled, what others write is found by one cheap look at the database in each interval.
 */
export class BlockWatches {
  private readonly watchers = new Map<() => void, string>();
  private readonly polling: WatchPoll;
  private mark: string | undefined;

  constructor(
    private readonly store: BlockStore,
    writer: BlockWriter,
    { pollMs, onFailure }: BlockWatchesOptions,
  ) {
    this.polling = new WatchPoll({ intervalMs: pollMs, work: () => this.look(), onFailure });
    writer.onChange((tenantId, { ownerKind, ownerName }) => this.wake(keyOf(tenantId, ownerKind, ownerName)));
  }

  get size(): number {
    return this.watchers.size;
  }

  open(tenantId: string, owner: Owner, signal: AbortSignal | undefined): BlockWatch {
    if (this.watchers.size >= maxWatchers) {
      throw new QuireError("LIMIT_REACHED", `${maxWatchers} callers watch blocks here, as many as may`, {
        metadata: { limit: "block_watchers", max: String(maxWatchers) },
      });
    }
    let isWoken = false;
    let resume: (() => void) | undefined;
    const wake = () => {
      isWoken = true;
      resume?.();
    };
    this.watchers.set(wake, keyOf(tenantId, owner.ownerKind, owner.ownerName));
    signal?.addEventListener("abort", wake);
    this.polling.start();
    return {
      async wait() {
        if (!isWoken && !signal?.aborted)
          await new Promise<void>((resolve) => {
            resume = resolve;
          });
        resume = undefined;
        isWoken = false;
      },
      close: () => {
        signal?.removeEventListener("abort", wake);
        this.watchers.delete(wake);
        if (this.watchers.size === 0) this.polling.stop();
      },
    };
  }

  /** One look for what others wrote, now. */
  poll(): Promise<void> {
    return this.polling.run();
  }

  close(): void {
    this.polling.stop();
  }

  private async look(): Promise<void> {
    const mark = await this.store.changeMark();
    if (mark !== this.mark) for (const wake of this.watchers.keys()) wake();
    this.mark = mark;
  }

  private wake(key: string): void {
    for (const [wake, watched] of this.watchers) if (watched === key) wake();
  }
}

interface Owner {
  readonly ownerKind: string;
  readonly ownerName: string;
}

function keyOf(tenantId: string, ownerKind: string, ownerName: string): string {
  return JSON.stringify([tenantId, ownerKind, ownerName]);
}
