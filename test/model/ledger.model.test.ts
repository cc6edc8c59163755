import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/storage/database.js";
import { startPostgres } from "../support/postgres.js";
import { startTestServer, type TestServer } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";
import { checkHistory, wasErasedDuring } from "./check-history.js";
import { checkErasures, checkLedger, liveSessions } from "./check-ledger.js";
import { checkNothingLeft, checkTables } from "./check-tables.js";
import { History } from "./history.js";
import { Random } from "./random.js";
import { Traffic } from "./traffic.js";
import { Watchers } from "./watchers.js";

const clients = 8;
const callsPerClient = 50;
/** More seeds, as in `npm run test:long`: `QUIRE_MODEL_SEEDS=1,2,3,4 npx vitest run test/model`. */
const chosenSeeds = process.env.QUIRE_MODEL_SEEDS?.split(",").map(Number);

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** Seeded traffic against servers over one database, then every check there is. Nothing is found when all is well. */
async function findFaults(database: string, serverCount: number, seed: number): Promise<string[]> {
  const random = new Random(seed);
  const history = new History();
  const traffic = new Traffic(random, history);
  const watchers = new Watchers();
  const servers: TestServer[] = [];
  const storage = await openDatabase({ url: database, poolSize: 2 });
  try {
    for (let started = 0; started < serverCount; started++) {
      servers.push(await startTestServer({ database, watchPollMs: 250, shutdownGraceMs: 0 }));
    }
    const ledgers = Array.from({ length: clients }, (_, client) =>
      servers[client % servers.length]!.connect(),
    );
    traffic.onSession = (id) => {
      if (random.chance(0.3)) watchers.watch(random.pick(ledgers), id);
    };
    await Promise.all(ledgers.map((_, client) => traffic.run(client, ledgers, callsPerClient)));

    const reader = random.pick(ledgers);
    const faults = traffic.oddReads
      .filter((read) => !wasErasedDuring(history, read.sessionId, read))
      .map(({ sessionId, fault }) => `history of ${sessionId}: ${fault}`);
    faults.push(...(await checkLedger(history, reader)));
    faults.push(...(await watchers.check([...(await liveSessions(history, reader)).values()])));
    faults.push(...checkHistory(history));
    faults.push(...(await checkTables(storage, history)));
    if (faults.length > 0) return faults;
    return [...(await checkErasures(history, reader, storage, random)), ...(await checkNothingLeft(storage))];
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await storage.close();
  }
}

function report(seed: number, faults: readonly string[]): string {
  return faults.length === 0 ? "" : `seed ${seed}: ${faults.length} faults\n${faults.slice(0, 5).join("\n")}`;
}

describe("the ledger under concurrent clients does what the model does", () => {
  it.each(chosenSeeds ?? [1, 2])("on SQLite, seed %i", async (seed) => {
    const faults = await findFaults(`file:${join(tempFolder(), "quire.db")}`, 1, seed);
    expect(report(seed, faults)).toBe("");
  });

  describe.skipIf(postgres === undefined)("on PostgreSQL", () => {
    it.each(chosenSeeds ?? [4])("one server, seed %i", async (seed) => {
      const faults = await findFaults(await postgres!.createDatabase(), 1, seed);
      expect(report(seed, faults)).toBe("");
    });

    it.each(chosenSeeds ?? [6, 7])("two servers over one database, seed %i", async (seed) => {
      const faults = await findFaults(await postgres!.createDatabase(), 2, seed);
      expect(report(seed, faults)).toBe("");
    });
  });
});
