import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { Clock } from "../../domain/clock.js";

interface Use {
  calls: number;
  sinceMs: number;
}

/** Connections without a call are closed after a while. */
const maxIdleMs = 30 * 60_000;

export class IdleConnections {
  private readonly uses = new Map<ServerHttp2Session, Use>();

  constructor(private readonly clock: Clock) {}

  opened(connection: ServerHttp2Session): void {
    this.uses.set(connection, { calls: 0, sinceMs: this.clock.now() });
    connection.once("close", () => this.uses.delete(connection));
  }

  called(connection: ServerHttp2Session, stream: ServerHttp2Stream): void {
    const use = this.uses.get(connection);
    if (!use) return;
    use.calls++;
    stream.once("close", () => {
      use.calls--;
      use.sinceMs = this.clock.now();
    });
  }

  closeIdle(): void {
    const beforeMs = this.clock.now() - maxIdleMs;
    for (const [connection, { calls, sinceMs }] of this.uses)
      if (calls === 0 && sinceMs <= beforeMs) connection.close();
  }
}
