import fc from "fast-check";
import { expect, test } from "vitest";
import { stepByStep } from "../../../src/domain/steps.js";
import { kthLargest } from "../../../src/recall/ranking/kth-largest.js";
import { PartitionTable } from "../../../src/recall/ranking/partition-table.js";
import { readQuery } from "../../../src/recall/ranking/query.js";
import { rankScored } from "../../../src/recall/ranking/rank.js";
import { scoreQuery } from "../../../src/recall/ranking/score-query.js";
import { TopThree } from "../../../src/recall/ranking/top-three.js";
import { packagedWeights } from "../../../src/recall/ranking/weights.js";

const seed = 3;

function document(id: number, at: number) {
  const place = { sessionId: "s", branchId: "b", depth: at, messageIndex: 0 };
  return { id, ...place, timeMs: at * 60_000, speaker: "", flags: 0, termCount: 5 + (at % 7) };
}

function tableOf(count: number): PartitionTable {
  const table = new PartitionTable();
  for (let at = 1; at <= count; at++) table.add(document(at, at));
  return table;
}

test("kthLargest: is what stands there in the order of size, with equal ones and infinities among them", () => {
  const values = fc.array(fc.oneof(fc.integer({ min: -3, max: 3 }), fc.double({ noNaN: true })), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(values, fc.nat(), (given, any) => {
      const k = 1 + (any % given.length);
      const expected = Float64Array.from(given).sort().reverse()[k - 1];
      expect(kthLargest(Float64Array.from(given), given.length, k)).toBe(expected);
    }),
    { seed },
  );
});

test("TopThree: the mean of the best of each group; 0 for a group without any", () => {
  const pairs = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: -50, max: 50 })), { maxLength: 40 });
  fc.assert(
    fc.property(pairs, (given) => {
      const top = new TopThree(5);
      for (const [group, value] of given) top.add(group, value);
      for (let group = 0; group < 5; group++) {
        const best = given
          .flatMap(([of, value]) => (of === group ? [value] : []))
          .sort((a, b) => b - a)
          .slice(0, 3);
        const mean = best.length > 0 ? best.reduce((a, b) => a + b, 0) / best.length : 0;
        expect(top.mean(group)).toBeCloseTo(mean, 4);
      }
    }),
    { seed },
  );
});

test("a table knows the rows of ids in whatever order they came, and of none that it lacks", () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { maxLength: 200 });
  fc.assert(
    fc.property(ids, (given) => {
      const table = new PartitionTable();
      for (const [at, id] of given.entries()) table.add(document(id, at));
      const asked = Int32Array.from({ length: 402 }, (_, id) => id);
      const expected = [...asked].map((id) => given.indexOf(id));
      expect([...table.rowsOf(asked)]).toEqual(expected);
      expect([...asked].map((id) => table.rowOf(id) ?? -1)).toEqual(expected);
    }),
    { seed },
  );
});

test("ranking in steps: what is added to a table meanwhile changes nothing", async () => {
  const query = readQuery("tulips", 0);
  const ranked = async (growsBy: number) => {
    const table = tableOf(6_000);
    const rows = Int32Array.from({ length: 3_000 }, (_, at) => at * 2);
    const terms = [{ rows, counts: new Float32Array(rows.length).fill(1) }];
    const partition = { partitionId: 1, table, terms };
    let steps = 0;
    const pause = () => {
      steps++;
      for (let at = 0; at < growsBy; at++) table.add(document(table.maxId + 1, table.maxId + 1));
      return undefined;
    };
    const scored = await stepByStep(scoreQuery(query, [partition]), pause);
    const best = await stepByStep(
      rankScored(scored, { weights: packagedWeights().keyword, limit: 50 }),
      pause,
    );
    expect(steps).toBeGreaterThan(5);
    return best.map(({ row, score }) => [row, score]);
  };
  expect(await ranked(3_000)).toEqual(await ranked(0));
});

test("of more candidates than are looked at closely, those with the most words of the query stay", async () => {
  const table = tableOf(1_000);
  const every = (step: number) => {
    const rows = Int32Array.from({ length: Math.floor(1_000 / step) }, (_, at) => at * step);
    return { rows, counts: new Float32Array(rows.length).fill(1) };
  };
  const partition = { partitionId: 1, table, terms: [every(1), every(100)] };
  const scored = await stepByStep(scoreQuery(readQuery("tulips zebras", 0), [partition]), () => undefined);
  const rank = (maxCandidates: number) =>
    stepByStep(rankScored(scored, { weights: { terms: 1 }, limit: 10, maxCandidates }), () => undefined);
  const pruned = await rank(20);
  expect(pruned.every(({ row }) => row % 100 === 0)).toBe(true);
  expect(pruned.map(({ row }) => row)).toEqual((await rank(1_000)).map(({ row }) => row));
});
