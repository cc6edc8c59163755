import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { BoundedCache } from "../../src/domain/bounded-cache.js";
import { Caches } from "../../src/domain/caches.js";
import { bufferBytes, megabyte, ownBytes, parsedJsonBytes, textBytes } from "../../src/domain/memory-size.js";
import { heldBytes } from "../support/held-memory.js";

describe("a bounded cache", () => {
  test("drops what was used least lately, by bytes, and says what it holds", () => {
    const dropped: string[] = [];
    const cache = new BoundedCache<string>("letters", 1_100, textBytes, (value) => dropped.push(value));
    for (const letter of ["a", "b", "c"]) cache.set(letter, letter);
    expect(cache.entries).toBe(3);
    expect(cache.bytes).toBeGreaterThan(3 * textBytes("a"));
    cache.get("a");
    cache.peek("b");
    for (const letter of ["d", "e", "f"]) cache.set(letter, letter);
    expect(dropped).toEqual(["b", "c"]);
    expect(cache.get("a")).toBe("a");
    expect(cache.bytes).toBeLessThanOrEqual(1_100);
  });

  test("keeps nothing that is larger than its bound, and loses nothing for it", () => {
    const cache = new BoundedCache<string>("texts", 1_000, textBytes);
    cache.set("small", "x");
    cache.set("large", "x".repeat(1_000));
    expect(cache.get("large")).toBeUndefined();
    expect(cache.get("small")).toBe("x");
  });

  test.each([
    ["the smallest entries", 200_000, 1],
    ["small buffers, with memory of their own", 50_000, 32],
    ["the largest entries", 20, megabyte],
  ])("holds no more memory than it says, under a flood of %s", (_, count, bytes) => {
    const before = heldBytes();
    const cache = new BoundedCache<Buffer>("flood", 8 * megabyte, bufferBytes);
    for (let at = 0; at < count; at++) {
      cache.set(`key ${at}`, ownBytes(Buffer.from("x".repeat(bytes))));
      if (cache.bytes > cache.maxBytes) throw new Error(`${cache.bytes} bytes`);
    }
    expect(cache.bytes).toBeGreaterThan(6 * megabyte);
    expect(heldBytes() - before).toBeLessThan(8.5 * megabyte);
    expect(cache.entries).toBeGreaterThan(0);
  });
});

describe("sizes", () => {
  test.each([
    [
      "a schema",
      JSON.stringify({ type: "object", properties: { city: { type: "string", description: "x" } } }),
    ],
    ["empty objects", `[${Array(200).fill("{}").join(",")}]`],
    [
      "many names",
      JSON.stringify(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`name${at}`, at]))),
    ],
    ["numbers", JSON.stringify(Array.from({ length: 500 }, (_, at) => at / 7))],
  ])("of JSON that was read are not too small: %s", (_, json) => {
    const count = 2_000;
    const before = heldBytes();
    // Each with names of its own, as nothing would be shared.
    const read = Array.from({ length: count }, (_, at) => JSON.parse(json.replaceAll("name", `n${at}_`)));
    expect((heldBytes() - before) / count).toBeLessThan(1.2 * parsedJsonBytes(json));
    expect(read).toHaveLength(count);
  });

  test("bytes that are kept have their memory for themselves", () => {
    const pooled = Buffer.from("a few bytes");
    expect(pooled.buffer.byteLength).toBeGreaterThan(pooled.length);
    expect(ownBytes(pooled)).toEqual(pooled);
    expect(ownBytes(pooled).buffer.byteLength).toBe(pooled.length);
    const own = new Uint8Array([1, 2]);
    expect(ownBytes(own).buffer).toBe(own.buffer);
  });
});

describe("caches", () => {
  test("have every cache that was made in them, and make it smaller by their share", () => {
    const caches = new Caches(0.5);
    const cache = caches.create<string>("texts", 1_000, textBytes);
    caches.add({ name: "a queue", maxBytes: 7, bytes: 0, entries: 0 });
    expect(caches.uses.map(({ name, maxBytes }) => [name, maxBytes])).toEqual([
      ["texts", 500],
      ["a queue", 7],
    ]);
    cache.set("a", "b");
    expect(caches.uses[0]!.entries).toBe(1);
  });

  test("are made nowhere else", () => {
    const source = join(packageRoot, "src");
    const makers = readdirSync(source, { recursive: true, encoding: "utf8" })
      .filter(
        (file) => file.endsWith(".ts") && readFileSync(join(source, file), "utf8").includes("lru-cache"),
      )
      .map((file) => file.replaceAll("\\", "/"));
    expect(makers).toEqual(["domain/bounded-cache.ts"]);
  });
});
