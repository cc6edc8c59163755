import { expect, test } from "vitest";
import { WatchPoll } from "../../src/storage/watch-poll.js";

test("poll: it waits longer after each failure, thirty seconds at most, and as before after a success", async () => {
  let isDown = true;
  const failures: unknown[] = [];
  const poll = new WatchPoll({
    intervalMs: 500,
    work: async () => {
      if (isDown) throw new Error("down");
    },
    onFailure: (error) => failures.push(error),
  });
  const delays: number[] = [];
  for (let turn = 0; turn < 8; turn++) {
    delays.push(poll.delayMs);
    await poll.run();
  }
  expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(failures).toHaveLength(1);
  isDown = false;
  await poll.run();
  expect(poll.delayMs).toBe(500);
  isDown = true;
  await poll.run();
  expect(failures).toHaveLength(2);
});

test("poll: stopped while it works, it does not go on; started again, it goes on once", async () => {
  let runs = 0;
  let release = () => {};
  let onRun = () => {};
  const poll = new WatchPoll({
    intervalMs: 1,
    work: () => {
      runs += 1;
      onRun();
      return new Promise((resolve) => {
        release = resolve;
      });
    },
    onFailure: () => {},
  });
  const nextRun = () =>
    new Promise<void>((resolve) => {
      onRun = resolve;
    });
  const first = nextRun();
  poll.start();
  await first;
  poll.stop();
  release();
  await new Promise((next) => setImmediate(next));
  expect(runs).toBe(1);
  const second = nextRun();
  poll.start();
  poll.start();
  await second;
  expect(runs).toBe(2);
  poll.stop();
  release();
});
