import { EventEmitter } from "node:events";

/** Hears of a session's head until it is closed. A signal that comes between two waits is not lost. */
export interface HeadListener {
  /** Resolves at a signal, after the time given, or when the caller goes away: whichever is first. */
  wait(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Tells watchers in this process that a session's head may have moved. What moved is read from the head log. */
export class HeadSignal {
  private readonly emitter = new EventEmitter().setMaxListeners(0);

  moved(tenantId: string, sessionId: string): void {
    this.emitter.emit(`${tenantId}/${sessionId}`);
  }

  listen(tenantId: string, sessionId: string, signal: AbortSignal | undefined): HeadListener {
    const name = `${tenantId}/${sessionId}`;
    let signalled = false;
    let wake = () => {};
    const hear = () => {
      signalled = true;
      wake();
    };
    this.emitter.on(name, hear);
    signal?.addEventListener("abort", hear);
    return {
      async wait(timeoutMs) {
        if (!signalled && !signal?.aborted) {
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, timeoutMs);
            wake = () => {
              clearTimeout(timer);
              resolve();
            };
          });
        }
        signalled = false;
      },
      close: () => {
        this.emitter.off(name, hear);
        signal?.removeEventListener("abort", hear);
      },
    };
  }
}
