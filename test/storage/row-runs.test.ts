import { expect, test } from "vitest";
import { rowRuns } from "../../src/storage/row-runs.js";

test("rows are written in runs of seven lengths, all of them once and in order", () => {
  const lengths = new Set<number>();
  for (let count = 0; count <= 300; count++) {
    const rows = Array.from({ length: count }, (_, at) => at);
    const runs = [...rowRuns(rows)];
    expect(runs.flat()).toEqual(rows);
    for (const run of runs) lengths.add(run.length);
  }
  expect([...lengths].sort((a, b) => a - b)).toEqual([1, 2, 4, 8, 16, 32, 64]);
});
