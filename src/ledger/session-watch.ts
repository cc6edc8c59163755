import type { SessionFeed } from "./session-feed.js";

/** One watcher of a session. What wakes it between two waits is not lost; it holds no events of its own. */
export class SessionWatch {
  private isWoken = false;
  private resume: (() => void) | undefined;

  constructor(
    readonly feed: SessionFeed,
    private readonly signal: AbortSignal | undefined,
    private readonly onClose: () => void,
  ) {
    feed.watchers.add(this.wake);
    signal?.addEventListener("abort", this.wake);
  }

  readonly wake = (): void => {
    this.isWoken = true;
    this.resume?.();
  };

  /** Resolves when there may be news, or when the caller goes away. */
  async wait(): Promise<void> {
    if (!this.isWoken && !this.signal?.aborted) {
      await new Promise<void>((resolve) => {
        this.resume = resolve;
      });
      this.resume = undefined;
    }
    this.isWoken = false;
  }

  close(): void {
    if (!this.feed.watchers.delete(this.wake)) return;
    this.signal?.removeEventListener("abort", this.wake);
    this.onClose();
  }
}
