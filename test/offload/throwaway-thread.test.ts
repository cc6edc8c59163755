import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import type { Task } from "../../src/offload/offload.js";
import { TaskTimedOut, ThrowawayThread } from "../../src/offload/throwaway-thread.js";

type Run = (input: { readonly start?: SharedArrayBuffer; readonly value?: number }) => number;
const filename = fileURLToPath(new URL("./tasks.mjs", import.meta.url));
const named = (name: string): Task<Run> => ({ filename, name });
const [held, holds, spins, throws, threadOfTask] = ["held", "holds", "spins", "throws", "threadOfTask"].map(
  named,
) as [Task<Run>, Task<Run>, Task<Run>, Task<Run>, Task<Run>];
const fine = () => false;
const limitMs = 500;

const open: ThrowawayThread[] = [];
function throwaway(): ThrowawayThread {
  const made = new ThrowawayThread(limitMs);
  open.push(made);
  return made;
}

afterEach(async () => {
  for (const made of open.splice(0)) await made.close();
});

describe("throwaway thread", () => {
  test("is kept while its tasks do well, and thrown away after one that did harm or failed", async () => {
    const thread = throwaway();
    const first = await thread.run(threadOfTask, {}, fine);
    expect(await thread.run(threadOfTask, {}, () => true)).toBe(first);
    const second = await thread.run(threadOfTask, {}, fine);
    expect(second).not.toBe(first);
    await expect(thread.run(throws, {}, fine)).rejects.toThrow(RangeError);
    expect(await thread.run(threadOfTask, {}, fine)).not.toBe(second);
  });

  test("what its tasks leave in memory is told, so that it can be thrown away for that", async () => {
    const thread = throwaway();
    const found: number[] = [];
    const note = (_: number, heldBytes: number) => found.push(heldBytes) === 3;
    const first = await thread.run(threadOfTask, {}, note);
    await thread.run(holds, { value: 64 * 1024 * 1024 }, note);
    expect(await thread.run(threadOfTask, {}, note)).toBe(first);
    expect(await thread.run(threadOfTask, {}, note)).not.toBe(first);
    const [before, after, later, anew] = found as [number, number, number, number];
    expect(after - before).toBeGreaterThan(60 * 1024 * 1024);
    expect(later).toBeGreaterThanOrEqual(64 * 1024 * 1024);
    expect(anew).toBeLessThan(32 * 1024 * 1024);
  });

  test("a task that does not end is ended, and those behind it run", async () => {
    const thread = throwaway();
    const endless = thread.run(spins, {}, fine);
    const next = thread.run(threadOfTask, {}, fine);
    await expect(endless).rejects.toThrow(TaskTimedOut);
    expect(await next).toBeGreaterThan(0);
  });

  test.skipIf(!existsSync("/proc/thread-self/schedstat"))(
    "time in which a task has no CPU is not held against it",
    async () => {
      const start = new SharedArrayBuffer(8);
      const state = new Int32Array(start);
      const running = throwaway().run(held, { start, value: 7 }, fine);
      while (Atomics.load(state, 0) === 0) await new Promise((next) => setImmediate(next));
      await new Promise((next) => setTimeout(next, limitMs * 1.5));
      Atomics.store(state, 1, 1);
      Atomics.notify(state, 1);
      expect(await running).toBe(7);
    },
  );
});
