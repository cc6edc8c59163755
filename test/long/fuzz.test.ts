import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startChildServer } from "../server/child-server.js";
import { halfWritten, runFuzz } from "../server/fuzz-run.js";

const megabyte = 1024 * 1024;

test("fuzz: 50,000 malformed requests end with a clean status each, and the server's memory returns", async () => {
  const child = await startChildServer({ flags: { historyCacheBytes: 4 * megabyte } });
  onTestFinished(() => child.stop());
  await runFuzz(child, 1, 2_000);
  const before = await child.memory();
  for (let seed = 2; seed < 12; seed++) {
    const { unclean } = await runFuzz(child, seed, 5_000);
    expect(unclean, `seed ${seed}`).toEqual([]);
  }
  const after = await child.memory();
  expect((after.heapUsed + after.external - before.heapUsed - before.external) / megabyte).toBeLessThan(40);
  expect(child.isUp()).toBe(true);
  expect(halfWritten(join(child.folder, "quire.db"))).toEqual([]);
});
