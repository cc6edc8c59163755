import { describe, expect, test } from "vitest";
import { ByteBudget, type Hold } from "../../../src/server/admission/byte-budget.js";

describe("byte budget", () => {
  test("what fits is granted at once, the next waits and is granted when there is room, in order", () => {
    const budget = new ByteBudget("bytes", 100);
    const granted: string[] = [];
    const holds = new Map<string, Hold>();
    const ask = (name: string, bytes: number) =>
      budget.ask(bytes, (hold) => {
        granted.push(name);
        holds.set(name, hold);
      });
    ask("a", 60);
    ask("b", 60);
    ask("c", 10);
    expect(granted).toEqual(["a"]);
    holds.get("a")!.release();
    expect(granted).toEqual(["a", "b", "c"]);
    expect(budget.held).toBe(70);
  });

  test("as much as there is room for may wait; more is refused with the limit and a time to try again", () => {
    const budget = new ByteBudget("bytes", 100);
    budget.ask(100, () => undefined);
    budget.ask(60, () => undefined);
    const refused = () => budget.ask(60, () => undefined);
    expect(refused).toThrow(
      expect.objectContaining({
        reason: "SERVER_BUSY",
        metadata: { limit: "bytes", max: "100" },
        retryAfterMs: 1_000,
      }),
    );
  });

  test("one that is larger than everything is granted alone", () => {
    const budget = new ByteBudget("bytes", 100);
    let large: Hold | undefined;
    const small = budget.take(1);
    budget.ask(500, (hold) => {
      large = hold;
    });
    expect(large).toBeUndefined();
    small.release();
    expect(budget.held).toBe(500);
    large!.release();
    expect(budget.held).toBe(0);
  });

  test("what is small goes before those who wait, up to twice the budget", () => {
    const budget = new ByteBudget("bytes", 100);
    budget.ask(100, () => undefined);
    budget.ask(100, () => undefined);
    for (let index = 0; index < 10; index++) budget.take(10);
    expect(() => budget.take(10)).toThrow(expect.objectContaining({ reason: "SERVER_BUSY" }));
  });

  test("who stops waiting leaves no trace, and bytes are given back once", () => {
    const budget = new ByteBudget("bytes", 100);
    const first = budget.take(100);
    let granted = 0;
    const stop = budget.ask(80, () => granted++);
    budget.ask(20, () => granted++);
    stop();
    first.release();
    first.release();
    expect(granted).toBe(1);
    expect(budget.held).toBe(20);
    expect(budget.hasWaiting).toBe(false);
  });
});
