import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/storage/database.js";
import { ledgerCalls } from "../ledger/ledger-calls.js";
import { startPostgres } from "../support/postgres.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";
import { checkLeases } from "./check-leases.js";
import { LeaseClient, type Policy } from "./lease-clients.js";
import { Random } from "./random.js";

const clients = 16;
/** More seeds, and each policy alone, as in `npm run test:long`. */
const chosenSeeds = process.env.QUIRE_MODEL_SEEDS?.split(",").map(Number).slice(0, 2);
const turnsEach = chosenSeeds ? 5 : 2;
const policies: readonly Policy[] = ["REJECT", "WAIT", "INTERRUPT"];

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** Sixteen clients on one session; some stop in the middle, and some are so slow that their leases run out. */
async function findFaults(
  database: string,
  serverCount: number,
  chosen: readonly Policy[],
  seed: number,
): Promise<string[]> {
  const servers: TestServer[] = [];
  for (let started = 0; started < serverCount; started++) {
    const server = await startTestServer({ database, watchPollMs: 20, shutdownGraceMs: 0 });
    servers.push(server);
    onTestFinished(() => server.stop());
  }
  const storage = await openDatabase({ url: database, poolSize: 2 });
  onTestFinished(() => storage.close());
  const random = new Random(seed);
  const ledgers = Array.from({ length: clients }, (_, at) =>
    ledgerCalls(servers[at % serverCount]!.connect()),
  );
  const { id: session } = await ledgers[0]!.session();
  const scene = {
    session,
    random,
    policies: chosen,
    seconds: 3_600,
    faults: 0.2,
    expire: async (turnId: string) => {
      await storage.sqlTransaction((sql) =>
        sql.execute("UPDATE sessions SET lease_expires_us = 1 WHERE lease_turn_id = ?", [turnId]),
      );
    },
    later: () => new Promise<void>((resolve) => setTimeout(resolve, 2 + random.below(10))),
  };
  const all = ledgers.map((ledger, at) => new LeaseClient(`client ${at}`, ledger, scene));
  await Promise.all(all.map((client) => client.say(turnsEach)));
  return checkLeases(ledgers[0]!, session, all);
}

const alone = policies.map((policy) => ({ name: policy, chosen: [policy] }));
const cases = [{ name: "all policies", chosen: policies }, ...(chosenSeeds ? alone : [])];

describe.each(
  chosenSeeds ?? [1],
)("sixteen clients on one session: turns in order, none lost, none doubled; seed %i", (seed) => {
  test.each(cases)("on SQLite: $name", async ({ chosen }) => {
    const faults = await findFaults(`file:${join(tempFolder(), "quire.db")}`, 1, chosen, seed);
    expect(faults.slice(0, 5)).toEqual([]);
  });

  test.skipIf(postgres === undefined).each(cases)(
    "with two servers on PostgreSQL: $name",
    async ({ chosen }) => {
      const faults = await findFaults(await postgres!.createDatabase(), 2, chosen, seed);
      expect(faults.slice(0, 5)).toEqual([]);
    },
  );
});
