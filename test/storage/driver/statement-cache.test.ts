import { describe, expect, it, onTestFinished } from "vitest";
import { Caches } from "../../../src/domain/caches.js";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";
import { StatementCache } from "../../../src/storage/driver/statement-cache.js";

const roomForTwo = new Caches(0.0005);

describe("the statement cache", () => {
  it("prepares a text once, and forgets the least recently used", () => {
    const database = openDatabase(":memory:");
    onTestFinished(() => database.close());
    const cache = new StatementCache(database, "statements", roomForTwo);
    const one = cache.prepare("SELECT 1");
    const two = cache.prepare("SELECT 2");
    expect(cache.prepare("SELECT 1")).toBe(one);
    cache.prepare("SELECT 3");
    expect(cache.prepare("SELECT 1")).toBe(one);
    expect(cache.prepare("SELECT 2")).not.toBe(two);
  });

  it("keeps nothing that does not parse", () => {
    const database = openDatabase(":memory:");
    onTestFinished(() => database.close());
    const cache = new StatementCache(database, "statements", roomForTwo);
    expect(() => cache.prepare("SELEC 1")).toThrow("syntax error");
    expect(() => cache.prepare("")).toThrow();
  });
});
