const maxBackoffMs = 30_000;

interface WatchPollOptions {
  readonly intervalMs: number;
  readonly work: () => Promise<void>;
  /** Told once, until the work has succeeded again. */
  readonly onFailure: (error: unknown) => void;
}

/** Does some work again and again while it is started; after failures less and less often. */
export class WatchPoll {
  private timer: NodeJS.Timeout | undefined;
  private isStarted = false;
  private failures = 0;

  constructor(private readonly options: WatchPollOptions) {}

  /** How long the next turn is waited for. */
  get delayMs(): number {
    const { intervalMs } = this.options;
    const longest = Math.max(intervalMs, maxBackoffMs);
    return Math.min(intervalMs * 2 ** Math.min(this.failures, 30), longest);
  }

  start(): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.schedule();
  }

  stop(): void {
    this.isStarted = false;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  /** One turn, now. Never fails. */
  async run(): Promise<void> {
    try {
      await this.options.work();
      this.failures = 0;
    } catch (error) {
      if (this.failures === 0) this.options.onFailure(error);
      this.failures += 1;
    }
  }

  private schedule(): void {
    const timer = setTimeout(async () => {
      await this.run();
      // Stopped, or stopped and started again, meanwhile.
      if (this.timer === timer) this.schedule();
    }, this.delayMs);
    this.timer = timer;
  }
}
