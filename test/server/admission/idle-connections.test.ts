import { EventEmitter } from "node:events";
import type { ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import { expect, test } from "vitest";
import { IdleConnections } from "../../../src/server/admission/idle-connections.js";

const minuteMs = 60_000;

class Connection extends EventEmitter {
  closed = 0;
  close(): void {
    this.closed++;
  }
}

test("idle connections: one without a call for half an hour is closed, one with a call is not, however long that takes", () => {
  let nowMs = 0;
  const idle = new IdleConnections({ now: () => nowMs });
  const unused = new Connection();
  const watching = new Connection();
  for (const each of [unused, watching]) idle.opened(each as unknown as ServerHttp2Session);
  const watch = new EventEmitter();
  idle.called(watching as unknown as ServerHttp2Session, watch as unknown as ServerHttp2Stream);
  nowMs = 29 * minuteMs;
  idle.closeIdle();
  expect([unused.closed, watching.closed]).toEqual([0, 0]);
  nowMs = 120 * minuteMs;
  idle.closeIdle();
  expect([unused.closed, watching.closed]).toEqual([1, 0]);
  unused.emit("close");
  watch.emit("close");
  nowMs += 29 * minuteMs;
  idle.closeIdle();
  expect(watching.closed).toBe(0);
  nowMs += minuteMs;
  idle.closeIdle();
  expect([unused.closed, watching.closed]).toEqual([1, 1]);
});
