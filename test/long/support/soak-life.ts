import type {
  LedgerServiceClient,
  WatchSessionResponse,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { SoakCalls } from "./soak-calls.js";
import { SoakMemory } from "./soak-memory.js";
import { SoakThread } from "./soak-thread.js";

/** How many turns a session gets before it is deleted: every life is as long, so that as much lives at any time. */
export const turnsOfALife = 12;
const forkAt = turnsOfALife / 2;
const turnsOfAFork = 3;

/** A session from its creation to its end, with one fork, a memory block beside it, and a watcher that now and then goes away and comes back. */
export class SoakLife {
  readonly faults: string[] = [];
  private fork: SoakThread | undefined;
  private watched = 0;
  private stopWatching: () => void = () => undefined;

  private constructor(
    private readonly calls: SoakCalls,
    private readonly ledger: LedgerServiceClient,
    readonly main: SoakThread,
    private readonly memory: SoakMemory,
    private readonly lastTurn: number,
  ) {}

  static async begin(calls: SoakCalls, ledger: LedgerServiceClient, turns = turnsOfALife): Promise<SoakLife> {
    const life = new SoakLife(
      calls,
      ledger,
      await SoakThread.create(calls),
      await SoakMemory.begin(calls),
      turns,
    );
    life.watch();
    return life;
  }

  get threads(): readonly SoakThread[] {
    return this.fork ? [this.main, this.fork] : [this.main];
  }

  get isOver(): boolean {
    return this.main.turns.length >= this.lastTurn;
  }

  async step(): Promise<void> {
    const { random } = this.calls;
    if (!this.fork && this.main.turns.length >= forkAt) this.fork = await this.main.fork();
    const forked = this.fork && this.fork.turns.length < forkAt + turnsOfAFork ? this.fork : undefined;
    const thread = forked && random.chance(0.3) ? forked : this.main;
    const kind = random.weighted({
      record: 30,
      loop: 8,
      assemble: 16,
      build: 10,
      readReceipts: 5,
      readBack: 5,
      alias: 4,
      compact: 2,
      recordLate: 3,
      watch: 2,
      memory: 25,
    });
    if (kind === "watch") this.watch();
    else if (kind === "memory") await this.memory.step();
    else await thread[kind]();
  }

  async end(): Promise<void> {
    const threads = this.calls.random.chance(0.5) ? this.threads : this.threads.toReversed();
    for (const thread of threads) await thread.delete();
    await this.memory.end();
    this.faults.push(...this.memory.faults);
  }

  endWatch(): void {
    this.stopWatching();
  }

  /** From the last move that was seen: none may be left out, and none sent twice. */
  private watch(): void {
    this.stopWatching();
    const stream = this.ledger.watchSession({ session: this.main.id, afterSequence: this.watched });
    let isStopped = false;
    this.stopWatching = () => {
      isStopped = true;
      stream.cancel();
    };
    stream.on("data", ({ event }: WatchSessionResponse) => {
      if (isStopped || event?.$case !== "headMoved") return;
      if (event.value.sequence !== ++this.watched)
        this.faults.push(`move ${event.value.sequence} came where ${this.watched} should`);
    });
    stream.on("error", (error: { code?: number }) => {
      if (error.code !== 1) this.faults.push(`a watcher ended: ${String(error)}`);
    });
  }
}
