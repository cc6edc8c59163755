import { describe, expect, it } from "vitest";
import { hasSecondStatement, leadingWord } from "../../../src/storage/driver/sql-text.js";

describe("SQL text", () => {
  it.each([
    ["SELECT 1", false],
    ["SELECT 1;", false],
    ["SELECT 1; -- done; really", false],
    ["SELECT 1; /* a; b */ ;", false],
    ["SELECT ';', \"a;b\", [c;d], `e;f` FROM t", false],
    ["SELECT 'it''s; fine'", false],
    ["-- first;\nSELECT 1", false],
    ["CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;", false],
    ["CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; END", false],
    ["SELECT 1; SELECT 2", true],
    ["SELECT ';'; DROP TABLE t", true],
    ["SELECT 1;--\nDROP TABLE t", true],
  ])("%s: a second statement? %s", (sql, expected) => {
    expect(hasSecondStatement(sql)).toBe(expected);
  });

  it.each([
    ["SELECT 1", "select"],
    ["  \n-- note\n/* note */ Insert INTO t", "insert"],
    ["", ""],
    ["(SELECT 1)", ""],
  ])("%s starts with %s", (sql, word) => {
    expect(leadingWord(sql)).toBe(word);
  });
});
