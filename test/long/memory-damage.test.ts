import { test } from "vitest";
import { testQuire } from "../in-process/quire-fixture.js";
import { damage } from "../memory/damage.js";
import { putBlock, setText, textOf } from "../memory/memory-quire.js";

test("10,000 damaged updates: none does harm, and the block goes on", { timeout: 600_000 }, async () => {
  const quire = await testQuire();
  await putBlock(quire, "target", textOf, [setText("start")], { charLimit: 100_000 });
  await damage(quire, Number(process.env.QUIRE_DAMAGED_UPDATES ?? 10_000), 11);
});
