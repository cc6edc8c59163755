import { expect, test } from "vitest";
import { testQuire } from "../in-process/quire-fixture.js";
import { damage } from "../memory/damage.js";

test("10,000 damaged updates: none does harm, and the block goes on", { timeout: 600_000 }, async () => {
  const count = Number(process.env.QUIRE_DAMAGED_UPDATES ?? 10_000);
  const outcomes = await damage(await testQuire(), count, 11);
  console.log(JSON.stringify(outcomes, null, 2));
  // Some with a checksum that fits are in order but for what they say, some are found out only once they are imported.
  expect(outcomes.taken).toBeGreaterThan(0);
  expect(outcomes["it cannot be imported"]).toBeGreaterThan(0);
});
