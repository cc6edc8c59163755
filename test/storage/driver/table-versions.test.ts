import { describe, expect, it } from "vitest";
import { anyTable, TableVersions, writtenTable } from "../../../src/storage/driver/table-versions.js";

describe("writtenTable", () => {
  it.each([
    ["SELECT a FROM t", undefined],
    ["BEGIN IMMEDIATE", undefined],
    ["COMMIT", undefined],
    ["INSERT INTO capsules (a) VALUES (?)", "capsules"],
    ["INSERT OR FAIL INTO capsules (a) VALUES (?)", "capsules"],
    ["insert into `main`.`capsules` (`a`) values (?) returning `a`", "capsules"],
    ['UPDATE "memory_blocks" SET a = 1', "memory_blocks"],
    ["UPDATE OR IGNORE memory_blocks SET a = 1", "memory_blocks"],
    ["DELETE FROM `main`.`memory_shares` WHERE 1 = 1", "memory_shares"],
    ["REPLACE INTO source_marks VALUES (?)", "source_marks"],
    ["INSERT INTO source_marks VALUES (?) ON CONFLICT (a) DO UPDATE SET b = 1", "source_marks"],
    ["WITH r(a) AS (VALUES (?)) INSERT INTO receipts (a) SELECT * FROM r", "receipts"],
    ["WITH r AS (SELECT 1) SELECT * FROM r", anyTable],
    ["INSERT INTO a SELECT 'delete from b'", anyTable],
    ["CREATE TABLE t (a)", anyTable],
    ["PRAGMA user_version = 1", anyTable],
    ["VACUUM", anyTable],
  ])("%s", (sql, table) => {
    expect(writtenTable(sql)).toBe(table);
  });
});

describe("TableVersions", () => {
  it("differs after a write to one of the tables, or to one that is not known, and after no other", () => {
    const versions = new TableVersions();
    const before = versions.of(["a", "b"]);
    versions.wrote("c");
    expect(versions.of(["a", "b"])).toBe(before);
    versions.wrote("b");
    const after = versions.of(["a", "b"]);
    expect(after).not.toBe(before);
    versions.wrote(anyTable);
    expect(versions.of(["a", "b"])).not.toBe(after);
  });
});
