import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { ledgerCalls } from "../ledger/ledger-calls.js";
import { checkLeases } from "../model/check-leases.js";
import { LeaseClient, type Policy } from "../model/lease-clients.js";
import { Random } from "../model/random.js";
import { startPostgres } from "../support/postgres.js";
import { KillableServer } from "./support/killable-server.js";

const turnsEach = Number(process.env.QUIRE_LEASE_TURNS ?? 8);
const kills = Number(process.env.QUIRE_LEASE_KILLS ?? 5);
const seed = Number(process.env.QUIRE_LEASE_SEED ?? 1);
const clients = 16;
const startBoundMs = 120_000;
const policies: readonly Policy[] = ["REJECT", "WAIT", "INTERRUPT"];

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const sleep = (ms: number) => new Promise<void>((next) => setTimeout(next, ms));

describe(`kill -9 under ${clients} clients of one session, leases of one second, ${turnsEach} turns each`, () => {
  const cases = [...policies.map((policy) => [policy]), policies].flatMap((chosen) => [
    { name: `SQLite, one server: ${chosen}`, chosen, count: 1 },
    { name: `PostgreSQL, two servers: ${chosen}`, chosen, count: 2 },
  ]);

  test.each(cases)("$name", async ({ chosen, count }) => {
    if (count === 2 && !postgres) return;
    const folder = mkdtempSync(join(tmpdir(), "quire-lease-kill-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const url = count === 2 ? await postgres!.createDatabase() : undefined;
    const start = (at: number) => new KillableServer(folder, url, `quire-${at}.sock`);
    const servers = Array.from({ length: count }, (_, at) => start(at));
    onTestFinished(async () => {
      for (const server of servers) await server.kill();
    });
    for (const server of servers) await server.ready(startBoundMs);
    const random = new Random(seed);
    const stubs = Array.from({ length: clients }, (_, at) => servers[at % count]!.connect());
    onTestFinished(() => {
      for (const stub of stubs) stub.close();
    });
    const ledgers = stubs.map(ledgerCalls);
    const { id: session } = await ledgers[0]!.session();
    const scene = {
      session,
      random,
      policies: chosen,
      seconds: 1,
      faults: 0.05,
      expire: () => sleep(1_050),
      later: () => sleep(5 + random.below(20)),
    };
    const all = ledgers.map((ledger, at) => new LeaseClient(`client ${at}`, ledger, scene));
    let isDone = false;
    const working = Promise.all(all.map((client) => client.say(turnsEach))).finally(() => {
      isDone = true;
    });
    let killed = 0;
    while (!isDone && killed < kills) {
      await sleep(300 + random.below(1_200));
      if (isDone) break;
      const at = killed++ % count;
      await servers[at]!.kill();
      servers[at] = start(at);
      await servers[at]!.ready(startBoundMs);
    }
    await working;
    const checking = servers[0]!.connect();
    onTestFinished(() => checking.close());
    expect(killed).toBeGreaterThan(0);
    expect((await checkLeases(ledgerCalls(checking), session, all)).slice(0, 5)).toEqual([]);
    const refused = new Map<string, number>();
    for (const client of all)
      for (const [reason, times] of client.refused) refused.set(reason, (refused.get(reason) ?? 0) + times);
    console.log(`${killed} kills; refused: ${JSON.stringify([...refused])}`);
  }, 600_000);
});
