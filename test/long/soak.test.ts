import { expect, onTestFinished, test } from "vitest";
import { putAgent } from "../assembly/agent.js";
import { overGrpc } from "../assembly/over-grpc.js";
import { Random } from "../model/random.js";
import { type ChildServer, startChildServer } from "../server/child-server.js";
import { databaseFaults } from "./support/database-faults.js";
import { SoakCalls } from "./support/soak-calls.js";
import { SoakLife, turnsOfALife } from "./support/soak-life.js";
import { growth, type SoakSample, table, takeSample } from "./support/soak-samples.js";

const minutes = Number(process.env.QUIRE_SOAK_MINUTES ?? 5);
const seed = Number(process.env.QUIRE_SOAK_SEED ?? 1);
const callers = 8;
const livesOfACaller = 4;
/** Lives that each caller has seen to their end before anything is measured: by then as much lives at any time. */
const warmUpLives = 6;
const sampleCount = 40;

/** Calls one after the other, for as many sessions as it has, in any order; where one ends, the next begins. */
class Caller {
  readonly lives: SoakLife[] = [];
  readonly calls: SoakCalls;
  readonly faults: string[] = [];
  private ended = 0;
  private readonly quire;

  constructor(
    private readonly server: ChildServer,
    private readonly random: Random,
    name: string,
  ) {
    this.quire = overGrpc(server.address);
    this.calls = new SoakCalls(this.quire, name, random);
  }

  /** The first ones end earlier, each at another time. */
  async start(): Promise<void> {
    for (let at = 1; at <= livesOfACaller; at++) {
      const turns = Math.ceil((turnsOfALife * at) / livesOfACaller);
      this.lives.push(await SoakLife.begin(this.calls, this.server.ledger, turns));
    }
  }

  warmUp(): Promise<void> {
    return this.run(() => this.ended >= warmUpLives);
  }

  async run(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const at = this.random.below(this.lives.length);
      const life = this.lives[at]!;
      if (!life.isOver) {
        await life.step();
        continue;
      }
      await life.end();
      this.ended++;
      this.faults.push(...life.faults);
      this.lives[at] = await SoakLife.begin(this.calls, this.server.ledger);
    }
  }

  async finish(): Promise<string[]> {
    for (const life of this.lives) {
      for (const thread of life.threads) this.faults.push(...(await thread.faults(this.server.ledger)));
      life.endWatch();
      this.faults.push(...life.faults);
    }
    await this.quire.close();
    return this.faults;
  }
}

test(
  `soak: after ${minutes} minutes the server holds no more than in the middle of them`,
  async () => {
    const server = await startChildServer({ flags: { historyCacheBytes: 2 * 1024 * 1024 } });
    onTestFinished(() => server.stop());
    const setUp = overGrpc(server.address);
    await putAgent(setUp);
    await setUp.close();
    const all = Array.from(
      { length: callers },
      (_, at) => new Caller(server, new Random(seed * 1_000 + at), `c${at}`),
    );
    await Promise.all(all.map((caller) => caller.start()));
    await Promise.all(all.map((caller) => caller.warmUp()));

    const samples: SoakSample[] = [];
    const periodMs = (minutes * 60_000) / sampleCount;
    const startMs = performance.now();
    for (let at = 0; at < sampleCount; at++) {
      const untilMs = performance.now() + periodMs;
      await Promise.all(all.map((caller) => caller.run(() => performance.now() >= untilMs)));
      const answered = all.reduce((sum, { calls }) => sum + (calls.ended.get("answered") ?? 0), 0);
      samples.push(await takeSample(server, (performance.now() - startMs) / 1_000, answered));
    }

    const faults = (await Promise.all(all.map((caller) => caller.finish()))).flat();
    const changes = growth(samples);
    const ended = new Map<string, number>();
    for (const { calls } of all)
      for (const [name, count] of calls.ended) ended.set(name, (ended.get(name) ?? 0) + count);
    console.log(
      `seed ${seed}\n${table(samples)}\n\n${table(changes)}\n\n${table([Object.fromEntries(ended)])}`,
    );
    expect(faults).toEqual([]);
    expect(await databaseFaults(server.folder)).toEqual([]);
    expect(changes.filter(({ ratio }) => ratio > 1.1)).toEqual([]);
  },
  minutes * 60_000 + 1_800_000,
);
