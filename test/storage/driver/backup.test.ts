import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { backup } from "../../../src/storage/driver/backup.js";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";
import { openParity } from "../../support/parity/open.js";
import { tempFolder } from "../../support/temp-folder.js";

const sql = (text: string, ...args: unknown[]) => ({ sql: text, args, argTypes: [] });
const fill = (from: number, to: number) =>
  sql(
    `WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO Scalar (int, bytes) SELECT i, zeroblob(2000) FROM n`,
    from,
    to,
  );

function read(path: string): unknown {
  const database = openDatabase(path);
  onTestFinished(() => database.close());
  const [check] = database.prepare("PRAGMA integrity_check").all() as { integrity_check: string }[];
  const [rows] = database.prepare("SELECT COUNT(*) AS n, MAX(int) AS max FROM Scalar").all() as object[];
  return { check: check?.integrity_check, ...rows };
}

describe("backup", () => {
  it("is the state at its start, though others go on writing", async () => {
    const { adapter, path } = await openParity();
    await adapter.executeRaw(fill(1, 2_000));
    const target = join(tempFolder(), "backup.db");
    const progress: number[] = [];
    const copied = backup(path, target, { onProgress: (done) => progress.push(done), pagesPerStep: 50 });
    for (let index = 0; index < 50; index += 1) {
      await adapter.executeRaw(fill(3_000 + index, 3_000 + index));
      await new Promise(setImmediate);
    }
    await copied;
    expect(read(target)).toEqual({ check: "ok", n: 2_000, max: 2_000 });
    expect(progress.length).toBeGreaterThan(0);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
  });

  it("replaces an older one only when it is whole, and leaves nothing else behind", async () => {
    const { adapter, path } = await openParity();
    await adapter.executeRaw(fill(1, 10));
    const folder = tempFolder();
    const target = join(folder, "backup.db");
    writeFileSync(target, "older");
    writeFileSync(`${target}.partial`, "half of one that was killed");
    await backup(path, target);
    expect(read(target)).toMatchObject({ n: 10 });
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  it("of a database that is missing fails and creates nothing", async () => {
    const folder = tempFolder();
    await expect(backup(join(folder, "missing.db"), join(folder, "copy.db"))).rejects.toThrow(
      "there is no database",
    );
    expect(existsSync(join(folder, "missing.db"))).toBe(false);
  });

  it("is refused where the copy cannot be made, and where something else is in its place", async () => {
    const { path } = await openParity();
    const folder = tempFolder();
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    await expect(backup(path, pipe)).rejects.toThrow(`${pipe} is not a regular file`);
    await expect(backup(path, folder)).rejects.toThrow(`${folder} is not a regular file`);
    const below = join(folder, "missing", "copy.db");
    await expect(backup(path, below)).rejects.toThrow(
      `the copy ${below} cannot be made (no such file or directory)`,
    );
    expect(readdirSync(folder)).toEqual(["pipe"]);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it("of what is no database is refused", async () => {
    const folder = tempFolder();
    const text = join(folder, "text.db");
    writeFileSync(text, "written by hand");
    const copy = join(folder, "copy.db");
    await expect(backup(text, copy)).rejects.toThrow(`${text} is not an SQLite database`);
    expect(readdirSync(folder)).toEqual(["text.db"]);
  });
});
