import { describe, expect, it } from "vitest";
import { findOrder, type Model, type Timed } from "./linearizable.js";

interface Access extends Timed {
  readonly does: "write" | "read";
  readonly value: number;
}

/** One value that is written and read. */
const register: Model<Access, number> = {
  initial: 0,
  key: String,
  step: (state, { does, value }) => (does === "write" ? value : value === state ? state : undefined),
};

const write = (value: number, start: number, end: number): Access => ({ does: "write", value, start, end });
const read = (value: number, start: number, end: number): Access => ({ does: "read", value, start, end });

describe("the search for an order", () => {
  it("takes calls that overlap in any order that the model allows", () => {
    const { explained, order } = findOrder(
      [write(1, 0, 10), write(2, 0, 10), read(2, 1, 3), read(1, 4, 9)],
      register,
    );
    expect(explained).toBe(true);
    expect(order.map(({ does, value }) => `${does} ${value}`)).toEqual([
      "write 2",
      "read 2",
      "write 1",
      "read 1",
    ]);
  });

  it("lets no call happen after one that began when it had ended", () => {
    const { explained, stuckAt } = findOrder([write(1, 0, 1), write(2, 2, 3), read(1, 4, 5)], register);
    expect(explained).toBe(false);
    expect(stuckAt).toEqual([read(1, 4, 5)]);
  });

  it("finds no order for two reads that saw two writes in two orders", () => {
    const writes = [write(1, 0, 20), write(2, 0, 20)];
    const reads = [read(1, 1, 2), read(2, 3, 4), read(1, 5, 6), read(2, 7, 8)];
    expect(findOrder([...writes, ...reads.slice(0, 2)], register).explained).toBe(true);
    expect(findOrder([...writes, ...reads], register).explained).toBe(false);
  });

  it("is quick where many calls overlap", () => {
    const calls = Array.from({ length: 300 }, (_, index) => [
      write(index, index, index + 8),
      read(index, index, index + 8),
    ]);
    expect(findOrder(calls.flat(), register).explained).toBe(true);
  });
});
