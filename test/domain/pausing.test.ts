import { expect, test } from "vitest";
import { pausing } from "../../src/domain/pausing.js";

function busy(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test("those who work side by side hold the event loop together no longer than one of them", async () => {
  const [first, second] = [pausing(), pausing()];
  busy(12);
  const due = first();
  expect(due).toBeInstanceOf(Promise);
  expect(second()).toBeInstanceOf(Promise);
  await due;
});

test("work that is aborted ends where it would go on", async () => {
  const controller = new AbortController();
  const pause = pausing(controller.signal);
  busy(12);
  const due = pause();
  controller.abort(new Error("stop"));
  await expect(due).rejects.toThrow("stop");
});
