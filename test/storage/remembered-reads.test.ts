import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.js";
import { openDatabase as openFile } from "../../src/storage/driver/database-sync.js";
import type { RememberedRead } from "../../src/storage/remembered-reads.js";

const insert =
  "INSERT INTO workspaces (tenant_id, id, name, path, host, os, arch, revision, capability_count, created_us, updated_us) VALUES ('t', ?, ?, '/', '', '', '', ?, 0, 0, 0)";

describe("RememberedReads", () => {
  let folder: string;
  let database: Database;
  let read: RememberedRead<number | undefined>;
  let asked: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "quire-test-"));
    database = await openDatabase({ url: `file:${join(folder, "quire.db")}`, poolSize: 1 });
    asked = 0;
    read = database.remember({
      tables: ["workspaces"],
      text: "SELECT revision FROM workspaces WHERE tenant_id = ? AND name = ?",
      read: ([row]) => {
        asked++;
        return row && Number(row[0]);
      },
    });
  });

  afterEach(async () => {
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const write = (text: string, args: readonly (string | number)[] = []) =>
    database.sqlTransaction((sql) => sql.execute(text, args));
  /** The next event: another process may have been heard of by then. */
  const nextEvent = () => new Promise((resolve) => setImmediate(resolve));

  it("answers at once, and asks again only after a write to its tables", async () => {
    await write(insert, ["1", "a", 1]);
    expect([read("t", "a"), read("t", "b")]).toEqual([1, undefined]);
    await nextEvent();
    expect([read("t", "a"), read("t", "b"), asked]).toEqual([1, undefined, 2]);
    await write("DELETE FROM capsules");
    expect([read("t", "a"), asked]).toEqual([1, 2]);
    await write("UPDATE workspaces SET revision = 2 WHERE id = '1'");
    expect([read("t", "a"), asked]).toEqual([2, 3]);
    await database.transaction((tx) => tx.workspace.updateMany({ data: { revision: 3 } }));
    expect([read("t", "a"), asked]).toEqual([3, 4]);
    await database.unsyncedWrite([{ text: "UPDATE workspaces SET revision = 4", args: [] }]);
    expect([read("t", "a"), asked]).toEqual([4, 5]);
  });

  it("keeps nothing that it read beside an open transaction", async () => {
    await write(insert, ["1", "a", 1]);
    await database.sqlTransaction(async (sql) => {
      await sql.execute("UPDATE workspaces SET revision = 2", []);
      expect(await read("t", "a")).toBe(1);
    });
    expect(await read("t", "a")).toBe(2);
  });

  it("forgets nothing wrong: what was rolled back is not read", async () => {
    await write(insert, ["1", "a", 1]);
    const failing = database.sqlTransaction(async (sql) => {
      await sql.execute("UPDATE workspaces SET revision = 2", []);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await read("t", "a")).toBe(1);
  });

  it("sees what another process commits", async () => {
    await write(insert, ["1", "a", 1]);
    expect(read("t", "a")).toBe(1);
    const other = openFile(join(folder, "quire.db"));
    other.exec("UPDATE workspaces SET revision = 7");
    other.close();
    await nextEvent();
    expect(read("t", "a")).toBe(7);
  });

  it("reads only tables that no trigger writes to and no cascade empties", async () => {
    const rows = await database.sqlReader.query(
      "SELECT sql FROM sqlite_master WHERE (type = 'trigger' OR sql LIKE '%CASCADE%') AND sql IS NOT NULL",
      [],
    );
    const texts = rows.map(([sql]) => String(sql)).join("\n");
    for (const table of remembered) expect(texts).not.toContain(table);
  });
});

/** All that is remembered anywhere. */
const remembered = [
  "capsules",
  "workspaces",
  "source_marks",
  "memory_blocks",
  "memory_shares",
  "archival_entries",
];
