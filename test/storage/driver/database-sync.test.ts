import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";

describe("the driver", () => {
  it("loads without a warning", async () => {
    const warnings: string[] = [];
    const note = (warning: Error) => warnings.push(warning.message);
    process.on("warning", note);
    try {
      vi.resetModules();
      const emit = process.emitWarning;
      const { openDatabase } = await import("../../../src/storage/driver/database-sync.js");
      expect(process.emitWarning).toBe(emit);
      openDatabase(":memory:").close();
      await setImmediate();
      expect(warnings).toEqual([]);
    } finally {
      process.off("warning", note);
    }
  });

  it("has FTS5, JSON and the window functions", async () => {
    const { openDatabase } = await import("../../../src/storage/driver/database-sync.js");
    const database = openDatabase(":memory:");
    database.exec(
      "CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES ('a quick fox'), ('a dog')",
    );
    const statement = database.prepare(
      "SELECT body, json_array(1), row_number() OVER () FROM words WHERE words MATCH ?",
    );
    statement.setReturnArrays(true);
    expect(statement.all("fox")).toEqual([["a quick fox", "[1]", 1]]);
    database.close();
  });
});
