import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { megabyte } from "../../src/domain/memory-size.js";
import { tempFolder } from "../support/temp-folder.js";

const traffic = fileURLToPath(new URL("support/mixed-traffic.mjs", import.meta.url));
const seed = 20261207;

interface Checkpoint {
  readonly assemblies: number;
  readonly held: number;
  readonly rss: number;
  /** By cache: how full it is. */
  readonly kept: Readonly<Record<string, number>>;
}

async function run(options: {
  readonly assemblies: number;
  readonly checkpoints: number;
}): Promise<Checkpoint[]> {
  const database = `file:${join(tempFolder(), "quire.db")}`;
  // Caches of a tenth of their size are full after a few thousand contexts.
  const given = JSON.stringify({ database, seed, share: 0.1, ...options });
  const child = spawn(process.execPath, ["--expose-gc", "--max-old-space-size=300", traffic, given], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const points: Checkpoint[] = [];
  for await (const line of createInterface(child.stdout)) points.push(JSON.parse(line) as Checkpoint);
  expect(await ended).toEqual([0, null]);
  return points;
}

test("heap after 20,000 mixed assemblies and deletions is flat", { timeout: 3_600_000 }, async () => {
  const points = await run({ assemblies: 20_000, checkpoints: 8 });
  const said = points.map(({ assemblies, held }) => `${assemblies}: ${(held / megabyte).toFixed(1)} MB`);
  console.log(`what an engine holds, after so many assemblies (seed ${seed}): ${said.join(", ")}`);
  const [middle, end] = [points[3]!, points[7]!];
  // What fills up slowest shows that the middle is late enough.
  for (const name of ["recent receipts", "tools"]) expect(middle.kept[name]).toBeGreaterThan(0.6);
  expect(end.assemblies).toBe(20_000);
  expect(end.held / middle.held).toBeLessThan(1.1);
  expect(end.rss / middle.rss).toBeLessThan(1.25);
});
