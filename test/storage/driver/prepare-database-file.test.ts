import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { prepareDatabaseFile } from "../../../src/storage/driver/prepare-database-file.js";
import { UnusableDatabase } from "../../../src/storage/driver/unusable-database.js";
import { tempFolder } from "../../support/temp-folder.js";

describe("a place for a database file", () => {
  it("is made with its folders, and taken back with them and with what SQLite put beside it", () => {
    const folder = tempFolder();
    const path = join(folder, "a", "b", "quire.db");
    const takeBack = prepareDatabaseFile(path);
    expect(readdirSync(join(folder, "a", "b"))).toEqual(["quire.db"]);
    for (const end of ["-wal", "-shm", "-journal"]) writeFileSync(`${path}${end}`, "");
    takeBack();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is taken back without what was there before, or came later", () => {
    const folder = tempFolder();
    mkdirSync(join(folder, "before"));
    const path = join(folder, "before", "made", "quire.db");
    const takeBack = prepareDatabaseFile(path);
    writeFileSync(join(folder, "before", "made", "notes.txt"), "");
    takeBack();
    expect(readdirSync(join(folder, "before", "made"))).toEqual(["notes.txt"]);
  });

  it("that has a file stays as it is, whatever becomes of it", () => {
    const folder = tempFolder();
    const path = join(folder, "quire.db");
    writeFileSync(path, "");
    writeFileSync(`${path}-wal`, "");
    prepareDatabaseFile(path)();
    expect(readdirSync(folder)).toEqual(["quire.db", "quire.db-wal"]);
  });

  it("that a link leads to is used, whether the file is there or not", () => {
    const folder = tempFolder();
    const [link, target] = [join(folder, "link.db"), join(folder, "target.db")];
    symlinkSync(target, link);
    prepareDatabaseFile(link)();
    writeFileSync(target, "");
    prepareDatabaseFile(link)();
    expect(existsSync(link)).toBe(true);
  });

  it("that cannot be is refused, and the folders that were made on the way are gone", () => {
    const folder = tempFolder();
    const path = join(folder, "a", "b", "x".repeat(300));
    expect(() => prepareDatabaseFile(path)).toThrow(UnusableDatabase);
    expect(() => prepareDatabaseFile(path)).toThrow("cannot be made (name too long); name another path");
    expect(readdirSync(folder)).toEqual([]);
  });

  it("whose log is no file is refused", () => {
    const path = join(tempFolder(), "quire.db");
    writeFileSync(path, "");
    mkdirSync(`${path}-wal`);
    expect(() => prepareDatabaseFile(path)).toThrow(`${path}-wal is a folder`);
  });
});
