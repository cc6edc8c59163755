import { setTimeout as sleep } from "node:timers/promises";
import { forgetSession } from "../../src/assembly/forget-session.js";
import type { Engine } from "../../src/engine.js";
import { deleteSession } from "../../src/ledger/sessions.js";
import { tenantId } from "../assembly-fixture.js";
import { type Stall, StallWatch } from "../attack/stalls.js";
import { noKey } from "../ledger-fixture.js";
import { elapsedMs } from "../measure.js";
import type { Work } from "./work.js";

/** What others notice while some work is done: the longest stall of the event loop, and how long their appends took. */
export interface Noticed {
  readonly stall: Stall;
  readonly totalMs: number;
  readonly appendP99Ms: number;
  /** Whatever was counted: receipts, turns. */
  readonly count: number;
}

const watch = new StallWatch();
const assemblyEveryMs = 20;
const appendEveryMs = 20;
/** A load of nothing else, for comparison. */
const quietMs = 5_000;

/** The upkeep of a database under load, in the process of the engine. The first sets of sessions serve the load, the last ones are erased. */
export class Maintenance {
  constructor(
    private readonly engine: Engine,
    private readonly work: Work,
    private readonly erasedSets: number,
  ) {}

  quiet = (): Promise<Noticed> =>
    this.whileServing(async () => {
      await sleep(quietMs);
      return 0;
    });

  /** Receipts and stored answers that are older. */
  retention = (beforeUs: bigint): Promise<Noticed> =>
    this.whileServing(async () => {
      const answers = await this.engine.ledger.sessions.forgetAnswers(beforeUs);
      return answers + (await this.engine.assembly.receipts.forget(beforeUs));
    });

  erasure = (): Promise<Noticed> =>
    this.whileServing(async () => {
      let erased = 0;
      const { sets } = this.work;
      for (let set = sets - this.erasedSets; set < sets; set++) {
        for (const session of this.work.sessionsOf(set)) {
          // As a call that comes over the network: in a turn of the event loop of its own.
          await new Promise((turn) => setImmediate(turn));
          const deleted = await deleteSession(this.engine.ledger, noKey("DeleteSession"), {
            session,
            cascade: false,
          });
          forgetSession(this.engine.assembly, tenantId, deleted.sessionId);
          erased += deleted.erasedTurns;
        }
      }
      return erased;
    });

  private async whileServing(work: () => Promise<number>): Promise<Noticed> {
    const served = this.work.sets - this.erasedSets;
    const sessions = Array.from({ length: 40 }, () =>
      this.work.sessionsOf(this.work.anySet() % served),
    ).flat();
    for (const session of sessions) await this.work.build(session);
    const end = new AbortController();
    const appends: number[] = [];
    const load = [
      every(assemblyEveryMs, end.signal, sessions, (session) => this.work.build(session)),
      every(appendEveryMs, end.signal, sessions, async (session) => {
        appends.push(await elapsedMs(() => this.work.append(session)));
      }),
    ];
    await sleep(200);
    watch.reset();
    let count = 0;
    const totalMs = await elapsedMs(async () => {
      count = await work();
    });
    await sleep(50);
    const stall = watch.longest;
    end.abort();
    await Promise.all(load);
    const appendP99Ms = appends.toSorted((a, b) => a - b)[Math.floor(appends.length * 0.99)] ?? 0;
    return { stall, totalMs, appendP99Ms, count };
  }
}

async function every(
  ms: number,
  end: AbortSignal,
  sessions: readonly string[],
  call: (session: string) => Promise<void>,
): Promise<void> {
  for (let at = 0; !end.aborted; at++) {
    await call(sessions[(at * 7) % sessions.length]!);
    await sleep(ms);
  }
}
