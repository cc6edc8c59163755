import { expect, test } from "vitest";
import { scanVectors } from "../../../src/recall/vectors/scan-vectors.js";
import { VectorSet } from "../../../src/recall/vectors/vector-set.js";
import { seededVectors } from "./acceptance.js";

const count = 12_000;

/** Around some centres, as texts are around their topics. */
function around(shift: number, dimensions = 128): Float32Array[] {
  const centres = seededVectors(1, 50, dimensions);
  return seededVectors(2, count, dimensions).map((vector, at) => {
    const values = vector.map((value, i) => value + 1.2 * centres[at % 50]![i]! + shift);
    const length = Math.hypot(...values);
    return values.map((value) => value / length);
  });
}

function setOf(vectors: readonly Float32Array[]): VectorSet {
  const set = new VectorSet(vectors[0]!.length, 0);
  for (const [at, vector] of vectors.entries()) set.set(at + 1, vector);
  return set;
}

test.each([
  ["around nothing", 0, 128, 50],
  ["far off to one side", 0.3, 128, 50],
  ["long ones, of which fewer are compared", 0, 384, 200],
])("of many vectors, the nearest are found and their cosines are exact: %s", (_, shift, dimensions, nearest) => {
  const vectors = around(shift, dimensions);
  const { rowSet } = setOf(vectors);
  expect(rowSet.typical).toBeDefined();
  let found = 0;
  for (const query of vectors.slice(0, 20)) {
    const quick = scanVectors({ sets: [rowSet], query, nearest });
    const exact = scanVectors({ sets: [{ ...rowSet, typical: undefined }], query, nearest });
    const cosines = new Map([...exact.ids].map((id, at) => [id, exact.cosines[at]]));
    expect(quick.ids[0]).toBe(exact.ids[0]);
    for (const [at, id] of quick.ids.entries())
      if (cosines.has(id)) {
        found++;
        expect(quick.cosines[at]).toBe(cosines.get(id));
      }
  }
  expect(found / (20 * nearest)).toBeGreaterThan(0.9);
});

test("what was deleted is found no more, and its place is used again", () => {
  const vectors = around(0);
  const set = setOf(vectors);
  const { bytes } = set;
  const query = vectors[4_321]!;
  const first = () => scanVectors({ sets: [set.rowSet], query, nearest: 1 }).ids[0];
  expect(first()).toBe(4_322);
  expect(set.delete(4_322)).toBe(true);
  expect(first()).not.toBe(4_322);
  set.set(99_999, query);
  expect(first()).toBe(99_999);
  expect(set.size).toBe(count);
  expect(set.bytes).toBe(bytes);
});
