import { expect, test } from "vitest";
import { Caches } from "../../src/domain/caches.js";
import { MessageNames } from "../../src/recall/context/message-names.js";

test("names of messages are kept within their bound; a text with marks is another one", () => {
  const caches = new Caches(0.02);
  const names = new MessageNames(caches);
  const [kept] = caches.uses;
  const text = (at: number) => `wrote src/part-${at}.ts and src/part-${at}.test.ts, as loadPart${at} wants`;
  const first = names.of("turn", 0, text(0));
  expect(first).toEqual(["src/part-0.ts", "src/part-0.test.ts", "loadPart0"]);
  expect(names.of("turn", 0, text(0))).toBe(first);
  expect(names.of("turn", 0, "wrote [left out: 20 tokens]")).toEqual([]);
  for (let at = 0; at < 1_000; at++) {
    expect(names.of("turn", at, text(at))).toHaveLength(3);
    expect(kept!.bytes).toBeLessThanOrEqual(kept!.maxBytes);
  }
  expect(kept!.entries).toBeGreaterThan(20);
  expect(kept!.entries).toBeLessThan(1_000);
});
