import { expect, test } from "vitest";
import { SliceRows } from "../../src/storage/slice-rows.js";

test("slices: fewer rows after one that took long, more after short ones, within bounds", () => {
  const slice = new SliceRows();
  const first = slice.count;
  slice.took(5);
  expect(slice.count).toBe(first);
  slice.took(9);
  expect(slice.count).toBe(first / 2);
  for (let at = 0; at < 20; at++) slice.took(1_000);
  expect(slice.count).toBe(4);
  for (let at = 0; at < 20; at++) slice.took(0);
  expect(slice.count).toBe(100);
});
