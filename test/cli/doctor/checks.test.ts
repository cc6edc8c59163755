import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkBuild } from "../../../src/cli/doctor/build.js";
import { checkDataFolder, existingFolder } from "../../../src/cli/doctor/data-folder.js";
import { checkDatabaseFile } from "../../../src/cli/doctor/database-file.js";
import { checkNode } from "../../../src/cli/doctor/node-version.js";
import { checkPostgres, postgresTarget } from "../../../src/cli/doctor/postgres.js";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";

const folder = mkdtempSync(join(tmpdir(), "quire-doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("doctor", () => {
  it.each([
    ["18.20.0", "fail"],
    ["20.18.3", "fail"],
    ["20.19.0", "ok"],
    ["22.16.0", "ok"],
  ])("judges Node %s: %s", (version, status) => {
    expect(checkNode(version).status).toBe(status);
  });

  it("finds a build that is missing, that is older than the sources, and that is new", async () => {
    const source = join(folder, "src", "main.ts");
    const built = join(folder, "dist", "src", "main.js");
    mkdirSync(join(folder, "src"));
    writeFileSync(source, "");
    expect(await checkBuild(folder)).toMatchObject({ status: "fail", hint: "npm run build" });
    mkdirSync(join(folder, "dist", "src"), { recursive: true });
    writeFileSync(built, "");
    utimesSync(built, 1_000, 1_000);
    expect(await checkBuild(folder)).toMatchObject({ status: "warn", hint: "npm run build" });
    utimesSync(source, 500, 500);
    expect(await checkBuild(folder)).toMatchObject({ status: "ok" });
  });

  it.each([
    ["postgresql://u:p@db.example/q", { host: "db.example", port: 5432 }],
    ["postgres://u@[::1]:5433/q", { host: "::1", port: 5433 }],
    ["postgresql:///q?host=/run/postgresql", { path: "/run/postgresql/.s.PGSQL.5432" }],
  ])("knows where %s points", (url, target) => {
    expect(postgresTarget(url)).toEqual(target);
  });

  it("tells a PostgreSQL server from something else, and from nothing", async () => {
    const answers = ["N", "HTTP/1.1 400 Bad Request"].map((answer) =>
      createServer((socket) => socket.once("data", () => socket.end(answer))).listen(0, "127.0.0.1"),
    );
    await Promise.all(answers.map((server) => once(server, "listening")));
    const ports = answers.map((server) => (server.address() as { port: number }).port);
    const checks = await Promise.all(
      [...ports, 1].map((port) => checkPostgres(`postgresql://u@127.0.0.1:${port}/q`)),
    );
    for (const server of answers) server.close();
    expect(checks.map(({ status }) => status)).toEqual(["ok", "fail", "fail"]);
  });

  it("looks at the folder in which the data folder would be made", async () => {
    const data = join(folder, "not", "yet");
    expect(existingFolder(data)).toBe(folder);
    const [writable, disk] = await checkDataFolder(data);
    expect(writable).toMatchObject({ status: "ok" });
    expect(writable?.found).toContain("the server will make it");
    expect(disk?.name).toBe("Disk");
  });

  it("says when the data folder cannot be made because a file is in its place", async () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    expect(await checkDataFolder(join(file, "data"))).toMatchObject([{ status: "fail" }]);
  });

  it("knows a database from an empty file, from another file and from none", async () => {
    const [database, empty, text] = ["a.db", "b.db", "c.db"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const made = openDatabase(database);
    made.exec("CREATE TABLE a (b)");
    made.close();
    writeFileSync(empty, "");
    writeFileSync(text, "written by hand");
    const checks = await Promise.all(
      [database, empty, join(folder, "none.db"), text, folder].map((path) => checkDatabaseFile(path)),
    );
    expect(checks.map(({ status, found }) => [status, found])).toEqual([
      ["ok", `a database: ${database}`],
      ["ok", `empty: ${empty}`],
      ["ok", `not there yet: ${join(folder, "none.db")}`],
      ["fail", `${text} is not an SQLite database`],
      ["fail", `${folder} is a folder`],
    ]);
    expect(existsSync(join(folder, "none.db"))).toBe(false);
  });
});
