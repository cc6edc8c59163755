import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { Offload, type Task } from "../../src/offload/offload.js";

type Count = (input: { readonly start?: SharedArrayBuffer; readonly value: number }) => number;
const filename = fileURLToPath(new URL("./tasks.mjs", import.meta.url));
const held: Task<Count> = { filename, name: "held" };
const plain: Task<Count> = { filename, name: "plain" };
const exits: Task<Count> = { filename, name: "exits" };
const throws: Task<Count> = { filename, name: "throws" };

const open: Offload[] = [];
function offload(threads: number): Offload {
  const made = new Offload(threads);
  open.push(made);
  return made;
}

afterEach(async () => {
  for (const made of open.splice(0)) await made.close();
});

/** Tasks that are held until `release`, and how many have begun. */
function stage() {
  const start = new SharedArrayBuffer(8);
  const state = new Int32Array(start);
  return {
    start,
    begun: () => Atomics.load(state, 0),
    async untilBegun(count: number): Promise<void> {
      for (;;) {
        const now = Atomics.load(state, 0);
        if (now >= count) return;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    release(): void {
      Atomics.store(state, 1, 1);
      Atomics.notify(state, 1);
    },
  };
}

describe("offload", () => {
  test("runs as many tasks at once as it has threads", async () => {
    const threads = offload(2);
    const { start, begun, untilBegun, release } = stage();
    const runs = [1, 2, 3, 4].map((value) => threads.run(held, { start, value }));
    await untilBegun(2);
    expect(begun()).toBe(2);
    release();
    expect(await Promise.all(runs)).toEqual([1, 2, 3, 4]);
  });

  test("runs tasks in the order they came", async () => {
    const threads = offload(1);
    const order: number[] = [];
    await Promise.all(
      [1, 2, 3, 4].map((value) => threads.run(plain, { value }).then((result) => order.push(result))),
    );
    expect(order).toEqual([2, 3, 4, 5]);
  });

  test("drops work that has not begun when its signal aborts, and only ends the wait for work that has", async () => {
    const threads = offload(1);
    const { start, begun, untilBegun, release } = stage();
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    const running = threads.run(held, { start, value: 1 }, abort.signal);
    await untilBegun(1);
    const queued = threads.run(held, { start, value: 2 }, abort.signal);
    const results = Promise.allSettled([running, queued]);
    abort.abort(reason);
    expect(await results).toEqual([
      { status: "rejected", reason },
      { status: "rejected", reason },
    ]);
    release();
    expect(await threads.run(plain, { value: 3 })).toBe(4);
    expect(begun()).toBe(1);
  });

  test("gives a task's error to its caller alone", async () => {
    const threads = offload(1);
    await expect(threads.run(throws, { value: 1 })).rejects.toThrow("too far");
    expect(await threads.run(plain, { value: 1 })).toBe(2);
  });

  test("starts another thread when a task ended its own", async () => {
    const threads = offload(1);
    await expect(threads.run(exits, { value: 1 })).rejects.toThrow();
    expect(await threads.run(plain, { value: 1 })).toBe(2);
  });

  test("rejects who waits when it is closed, begun or not", async () => {
    const threads = offload(1);
    const { start, untilBegun } = stage();
    const running = threads.run(held, { start, value: 1 });
    await untilBegun(1);
    const queued = threads.run(plain, { value: 1 });
    const results = Promise.allSettled([running, queued]);
    await threads.close();
    expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(threads.run(plain, { value: 1 })).rejects.toThrow("closed");
  });
});
