import { afterAll, describe, expect, test } from "vitest";
import { startPostgres } from "../support/postgres.js";
import { bothDatabases } from "./both-databases.js";
import { type Met, WindowLife } from "./window-life.js";

const lives = Number(process.env.QUIRE_WINDOW_LIVES ?? 1);
const seed = Number(process.env.QUIRE_WINDOW_SEED ?? 20_261_118);
const steps = 60;

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe("sessions that are forked, moved back and compacted by hand, each assembled for 8k, 64k and 1M", () => {
  test.each(bothDatabases(postgres).map((database) => [database.name, database] as const))(
    "%s: no session changes another's history, a cut stays until it must move and never comes back, every context is within its budget and valid for every provider",
    async (_, { isMissing, open }) => {
      if (isMissing) return;
      const clock = { ms: Date.UTC(2026, 0, 15), now: () => clock.ms };
      const { quire } = await open({}, { clock });
      const met: Met = {
        contexts: 0,
        moves: 0,
        compactions: 0,
        byHand: 0,
        forks: 0,
        movedHeads: 0,
        compared: 0,
      };
      for (let life = 0; life < lives; life++)
        await new WindowLife(quire, clock, seed + life, met).live(steps);
      console.log(`${lives} lives of ${steps} steps: ${JSON.stringify(met)}`);
      for (const count of Object.values(met)) expect(count).toBeGreaterThan(0);
    },
    3_600_000,
  );
});
