import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { compiledModule } from "../../src/config/package-root.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { TokenCounter } from "../../src/tokens/token-counter.js";
import { randomLetters, seededBelow } from "./random-text.js";

const counters: TokenCounter[] = [];
function counter(workerThresholdBytes?: number): TokenCounter {
  const made = new TokenCounter(workerThresholdBytes === undefined ? {} : { workerThresholdBytes });
  counters.push(made);
  return made;
}

afterEach(async () => {
  for (const made of counters.splice(0)) await made.close();
});

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Fails inside the worker, as nothing that the types allow does. */
const notText = { length: 1_000_000 } as unknown as string;

describe("TokenCounter", () => {
  it("counts alike in the calling thread and in the worker, for both vocabularies", async () => {
    const text = "Hello, wörld! 天地玄黄 <|endoftext|> ".repeat(100);
    for (const vocabulary of ["o200k_base", "cl100k_base"] as const) {
      const expected = countTokens(text, vocabulary);
      expect(await counter().count(text, vocabulary)).toBe(expected);
      expect(await counter(0).count(text, vocabulary)).toBe(expected);
      expect(counter().countNow(text, vocabulary)).toBe(expected);
    }
  });

  it("counts by o200k_base unless told otherwise", async () => {
    const text = "안녕하세요, 세계";
    expect(countTokens(text, "o200k_base")).not.toBe(countTokens(text, "cl100k_base"));
    expect(await counter().count(text)).toBe(countTokens(text, "o200k_base"));
    expect(counter().countNow(text)).toBe(countTokens(text, "o200k_base"));
  });

  it("gives the counts of small texts without a promise, in their order", () => {
    expect(counter().countAll(["a", "", "hello world", "天"])).toEqual([1, 0, 2, 1]);
    expect(counter().countAll([])).toEqual([]);
  });

  it("takes texts to the worker that only together are above the threshold", async () => {
    const texts = Array.from({ length: 3 }, (_, i) => `word${i} `.repeat(5000));
    const counts = counter().countAll(texts);
    expect(counts).toBeInstanceOf(Promise);
    expect(await counts).toEqual(texts.map((text) => countTokens(text, "o200k_base")));
  });

  it("measures the threshold in bytes of UTF-8", async () => {
    expect(counter(12).countAll(["abcdefghijkl"])).not.toBeInstanceOf(Promise);
    expect(counter(12).countAll(["天地玄黄"])).not.toBeInstanceOf(Promise);
    const counts = counter(11).countAll(["天地玄黄"]);
    expect(counts).toBeInstanceOf(Promise);
    await counts;
  });

  it("adds up the calls of one turn of the event loop, and begins anew in the next", async () => {
    const made = counter(10);
    expect(made.countAll(["abcdef"])).toEqual([1]);
    const counts = made.countAll(["abcdef"]);
    expect(counts).toBeInstanceOf(Promise);
    await counts;
    await nextTurn();
    expect(made.countAll(["abcdef"])).toEqual([1]);
  });

  it("lets the event loop run while it counts 1,000,000 letters without a space", async () => {
    const text = randomLetters(seededBelow(5), 1_000_000);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const count = await counter().count(text);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(20);
    expect(count).toBe(countTokens(text, "o200k_base"));
  });

  it("rejects what fails in the worker, and goes on with the next", async () => {
    const made = counter(0);
    const results = await Promise.allSettled([made.count(notText), made.count("hello world")]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(await made.count("hello world")).toBe(2);
  });

  it("ends the wait, not the worker, when the signal aborts", async () => {
    const made = counter(0);
    const reason = new Error("no longer wanted");
    const abort = new AbortController();
    const waiting = made.count("hello world", "o200k_base", abort.signal);
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(made.count("hello world", "o200k_base", abort.signal)).rejects.toBe(reason);
    expect(await made.count("hello world")).toBe(2);
  });

  it("rejects who waits when it is closed, and then counts in the calling thread only", async () => {
    const made = counter(100);
    const waiting = expect(made.count("a".repeat(1000))).rejects.toThrow("closed");
    await made.close();
    await waiting;
    await expect(made.count("a".repeat(1000))).rejects.toThrow("closed");
    expect(await made.count("hello world")).toBe(2);
    await made.close();
  });

  it.each([
    ["its worker is idle", "console.log(await counter.count(text));"],
    ["it is closed", "console.log(await counter.count(text)); await counter.close();"],
    ["nobody waits for it", "counter.count(text).then((count) => console.log(count));"],
  ])("lets the process end, but not before the answer, when %s", async (_, code) => {
    const module = compiledModule("src/tokens/token-counter.ts").href;
    const script = `import { TokenCounter } from "${module}"; const counter = new TokenCounter(); const text = "a".repeat(200_000); ${code}`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
    expect(stdout.trim()).toBe("25000");
  });

  it("is ready at once after prepare", () => {
    const made = counter();
    made.prepare("cl100k_base");
    expect(made.countNow("hello world", "cl100k_base")).toBe(2);
  });
});
