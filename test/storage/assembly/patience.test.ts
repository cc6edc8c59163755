import { expect, test } from "vitest";
import { Patience } from "../../../src/storage/assembly/patience.js";

function handDriven() {
  const timers: (() => void)[] = [];
  const patience = new Patience((ranOut) => timers.push(ranOut));
  return { patience, timers, runOut: () => timers.shift()!() };
}

const never = new Promise<void>(() => undefined);

test("patience: work that is done is no longer waited for, and sets no timer again", async () => {
  const { patience, timers, runOut } = handDriven();
  await patience.wait(Promise.resolve());
  await patience.wait(Promise.resolve());
  expect(timers).toHaveLength(1);
  runOut();
  expect(timers).toEqual([]);
  await patience.wait(Promise.resolve());
  expect(timers).toHaveLength(1);
});

test("patience: who waits when the timer runs out twice is sent away, others are not", async () => {
  const { patience, timers, runOut } = handDriven();
  let later = "waits";
  const first = patience.wait(never);
  runOut();
  patience.wait(never).then(() => {
    later = "was sent away";
  });
  runOut();
  await first;
  expect(later).toBe("waits");
  expect(timers).toHaveLength(1);
  runOut();
  await Promise.resolve();
  expect(later).toBe("was sent away");
  expect(timers).toEqual([]);
});
