import { describe, expect, test } from "vitest";
import { CallSlots, type Leave } from "../../../src/server/admission/call-slots.js";

const never = new AbortController().signal;

/** Waits until promises that can go on have gone on. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("call slots", () => {
  test("a connection gets half of the places, and the others stay free for others", async () => {
    const slots = new CallSlots(4);
    const [busy, other] = [{}, {}];
    for (let index = 0; index < 2; index++) expect(slots.enter(busy, never)).toBeTypeOf("function");
    expect(slots.enter(busy, never)).toBeInstanceOf(Promise);
    expect(slots.enter(other, never)).toBeTypeOf("function");
  });

  test("no more than 32 start in one turn of the event loop", async () => {
    const slots = new CallSlots(1_000);
    const connection = {};
    let started = 0;
    const startAndEnd = async () => {
      const leave = await slots.enter(connection, never);
      started++;
      leave();
    };
    const all = Array.from({ length: 200 }, startAndEnd);
    const counts: number[] = [];
    for (let turn = 0; turn < 4; turn++) {
      await null;
      counts.push(started);
      await settled();
    }
    await Promise.all(all);
    expect(counts).toEqual([32, 64, 96, 128]);
  });

  test("those who wait are let in connection by connection", async () => {
    const slots = new CallSlots(2);
    const [a, b, c] = [{}, {}, {}];
    const leave = [slots.enter(a, never) as Leave, slots.enter(b, never) as Leave];
    const entered: string[] = [];
    const wait = async (name: string, connection: object) => {
      leave.push(await slots.enter(connection, never));
      entered.push(name);
    };
    const all = [wait("a1", a), wait("a2", a), wait("a3", a), wait("c1", c), wait("c2", c)];
    while (leave.length > 0) {
      leave.shift()!();
      await settled();
    }
    await Promise.all(all);
    expect(entered).toEqual(["a1", "c1", "a2", "c2", "a3"]);
  });

  test("sixteen times as many may wait; more are refused", () => {
    const slots = new CallSlots(2);
    for (let index = 0; index < 1 + 32; index++) void slots.enter(slots, never);
    expect(() => slots.enter(slots, never)).toThrow(
      expect.objectContaining({
        reason: "SERVER_BUSY",
        metadata: { limit: "concurrent_calls", max: "2" },
        retryAfterMs: 1_000,
      }),
    );
  });

  test("who is cancelled while it waits takes no place", async () => {
    const slots = new CallSlots(2);
    const connection = {};
    const leave = slots.enter(connection, never) as Leave;
    const gone = new AbortController();
    const cancelled = slots.enter(connection, gone.signal) as Promise<Leave>;
    const next = slots.enter(connection, never) as Promise<Leave>;
    gone.abort(new Error("gone"));
    await expect(cancelled).rejects.toThrow("gone");
    leave();
    (await next)();
    expect(slots.enter(connection, never)).toBeTypeOf("function");
  });
});
