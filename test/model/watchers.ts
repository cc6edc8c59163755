import type * as wire from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { HeadMove, Session } from "../../src/contract/gen/quire/v1/session.js";

interface Watched {
  readonly moves: HeadMove[];
  ended: "deleted" | "cut off" | undefined;
  stop(): void;
}

/** Watches sessions from their beginning while others write to them. */
export class Watchers {
  private readonly watched = new Map<string, Watched>();

  watch(ledger: wire.LedgerServiceClient, sessionId: string): void {
    if (this.watched.has(sessionId)) return;
    const stream = ledger.watchSession({ session: sessionId, afterSequence: 0 });
    const watched: Watched = { moves: [], ended: undefined, stop: () => stream.cancel() };
    this.watched.set(sessionId, watched);
    stream.on("data", ({ event }: wire.WatchSessionResponse) => {
      if (event?.$case === "headMoved") watched.moves.push(event.value);
      if (event?.$case === "deleted") watched.ended = "deleted";
    });
    stream.on("error", () => {
      watched.ended ??= "cut off";
    });
  }

  /** Each saw every move once and in order; those of sessions that are gone were told so. */
  async check(live: readonly Session[]): Promise<string[]> {
    const byId = new Map(live.map((session) => [session.id, session]));
    const deadline = Date.now() + 120_000;
    const isDone = ([id, { moves, ended }]: [string, Watched]) =>
      ended !== undefined || moves.length >= (byId.get(id)?.headSequence ?? Number.POSITIVE_INFINITY);
    while (![...this.watched].every(isDone) && Date.now() < deadline)
      await new Promise((next) => setTimeout(next, 10));
    const faults: string[] = [];
    for (const [id, { moves, ended, stop }] of this.watched) {
      stop();
      if (moves.some((move, index) => move.sequence !== index + 1)) {
        faults.push(`the watcher of ${id} saw the moves ${moves.map((move) => move.sequence)}`);
      }
      const session = byId.get(id);
      if (session && moves.length !== session.headSequence) {
        faults.push(`the watcher of ${id} saw ${moves.length} of ${session.headSequence} moves`);
      }
      if (!session && ended === undefined) faults.push(`the watcher of ${id} was not told that it is gone`);
    }
    return faults;
  }
}
