import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openDatabase } from "../../../src/storage/database.js";
import { openDatabase as openFile } from "../../../src/storage/driver/database-sync.js";
import { startPostgres } from "../../support/postgres.js";
import { canMount, onDisk, withSmallDisk } from "../../support/small-disk.js";
import { expectOneLine, serve } from "../support/refused-start.js";
import { quireCommand, spawnCli, spawnProcess } from "../support/run-cli.js";

/** The built command, started on databases that it cannot use. */

const folder = mkdtempSync(join(tmpdir(), "quire-start-"));
// Other users must be able to pass through.
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A folder of its own for each case, so that what is left can be seen. */
function place(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

const ready = join(folder, "ready.db");
beforeAll(async () => {
  await (await openDatabase({ url: `file:${ready}`, poolSize: 2 })).close();
});

const onFile = (path: string) => serve("--database", `file:${path}`);

describe("a database file", () => {
  it.skipIf(process.platform !== "linux")("in /proc is refused, and does not go on for ever", async () => {
    expectOneLine(await spawnCli(...onFile("/proc/x/y.db")).done, 1, "--database", "the folder /proc/x");
    expectOneLine(await spawnCli(...onFile("/proc/y.db")).done, 1, "--database", "/proc/y.db");
  });

  it("that is a folder is refused", async () => {
    const path = place("is-a-folder");
    expectOneLine(await spawnCli(...onFile(path)).done, 1, `${path} is a folder`);
    expect(readdirSync(path)).toEqual([]);
  });

  it("that is a pipe is refused", async () => {
    const path = join(place("pipe"), "pipe.db");
    execFileSync("mkfifo", [path]);
    expectOneLine(await spawnCli(...onFile(path)).done, 1, `${path} is not a regular file`);
  });

  it("below a file is refused", async () => {
    const path = join(place("below"), "file");
    writeFileSync(path, "");
    expectOneLine(await spawnCli(...onFile(join(path, "quire.db"))).done, 1, `${path} is not a folder`);
    expectOneLine(await spawnCli(...onFile(join(path, "sub", "quire.db"))).done, 1, "not a directory");
  });

  it("that is none is refused, and stays as it is", async () => {
    const inside = place("text");
    const path = join(inside, "text.db");
    writeFileSync(path, "This was written by hand.\n");
    expectOneLine(await spawnCli(...onFile(path)).done, 1, `${path} is not an SQLite database`);
    expect(readFileSync(path, "utf8")).toBe("This was written by hand.\n");
    expect(readdirSync(inside)).toEqual(["text.db"]);
  });

  it("that is damaged is refused", async () => {
    const path = join(place("damaged"), "quire.db");
    const bytes = readFileSync(ready);
    writeFileSync(path, bytes.fill(0xee, 100, 4_096));
    expectOneLine(await spawnCli(...onFile(path)).done, 1, `${path} is damaged`);
  });

  it("of a newer version is refused", async () => {
    const path = join(place("newer"), "quire.db");
    copyFileSync(ready, path);
    const database = openFile(path);
    database.exec(
      `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "finished_at")
        VALUES ('x', 'y', '29990101000000_later', CURRENT_TIMESTAMP)`,
    );
    database.close();
    expectOneLine(await spawnCli(...onFile(path)).done, 1, path, "29990101000000_later", "newer");
  });
});

describe("a database file that another user may not write", () => {
  const isRoot = process.getuid?.() === 0;
  /** Root may write everywhere, so root's tests run the command as nobody. */
  const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};
  const asUser = (path: string) => spawnProcess(quireCommand(...onFile(path)), user).done;
  let canRun = false;

  beforeAll(async () => {
    const { code, err } = await spawnProcess(quireCommand("--version"), user).done;
    canRun = code === 0;
    if (!canRun) console.warn(`tests as another user are skipped: ${err}`);
  });

  it("is refused where its folder, or the one above, is forbidden", async ({ skip }) => {
    if (!canRun) skip();
    const forbidden = place("forbidden");
    chmodSync(forbidden, 0o500);
    const there = join(forbidden, "quire.db");
    expectOneLine(await asUser(there), 1, `the file ${there} cannot be made (permission denied)`);
    const below = join(forbidden, "sub", "quire.db");
    expectOneLine(await asUser(below), 1, `the folder ${join(forbidden, "sub")}`, "permission denied");
    expect(readdirSync(forbidden)).toEqual([]);
  });

  it("is refused before it serves what it could never write", async ({ skip }) => {
    if (!canRun) skip();
    const own = place("own");
    const path = join(own, "quire.db");
    copyFileSync(ready, path);
    chmodSync(path, 0o444);
    if (isRoot) chownSync(own, user.uid!, user.gid!);
    expectOneLine(await asUser(path), 1, `${path} cannot be written (permission denied)`);
    expect(readdirSync(own)).toEqual(["quire.db"]);
  });

  it("is refused where its log has no place", async ({ skip }) => {
    if (!canRun) skip();
    const closed = place("closed");
    const path = join(closed, "quire.db");
    copyFileSync(ready, path);
    chmodSync(path, 0o666);
    chmodSync(closed, 0o555);
    onTestFinished(() => chmodSync(closed, 0o755));
    expectOneLine(await asUser(path), 1, `nothing can be written in the folder ${closed}`);
    expect(readdirSync(closed)).toEqual(["quire.db"]);
  });
});

describe.skipIf(!canMount)("a disk", () => {
  const readOnly = 'mount -o remount,ro "$folder"';
  const filled = 'dd if=/dev/zero of="$folder/fill" bs=4096 2>/dev/null; true';
  const withDatabase = (prepare: string) => `cp "${ready}" "$folder/ready.db" && { ${prepare}; }`;

  it.each([
    ["read-only", "quire.db", readOnly, "read-only file system", []],
    ["read-only", "sub/quire.db", readOnly, "read-only file system", []],
    ["read-only", "ready.db", withDatabase(readOnly), "read-only file system", ["ready.db"]],
    ["full", "quire.db", filled, "too little room is left", ["fill"]],
    ["full", "a/b/quire.db", filled, "too little room is left", ["fill"]],
  ])("that is %s is named for %s, and nothing is left on it", async (_, name, prepare, why, left) => {
    const disk = mkdtempSync(join(folder, "disk-"));
    const command = withSmallDisk(disk, prepare, quireCommand(...onFile(join(disk, name))));
    const run = await spawnProcess(command).done;
    const [out, found] = run.out.split(`${onDisk}\n`);
    expectOneLine({ ...run, out: out! }, 1, "--database", disk, why);
    expect(found!.split("\n").filter(Boolean)).toEqual(left);
  });

  it("that is full is named for a database that is there", async () => {
    const disk = mkdtempSync(join(folder, "disk-"));
    const command = quireCommand(...onFile(join(disk, "ready.db")));
    const run = await spawnProcess(withSmallDisk(disk, withDatabase(filled), command)).done;
    expectOneLine({ ...run, out: "" }, 1, "--database", disk, "too little room is left");
    expect(run.out).toContain("ready.db");
  });

  it("that is full is named for a backup and for the demo, and nothing is left on it", async () => {
    const disk = mkdtempSync(join(folder, "disk-"));
    const copy = join(disk, "copy.db");
    const commands = [
      quireCommand("backup", copy, "--database", `file:${ready}`),
      ["env", `TMPDIR=${disk}`, ...quireCommand("demo", "--own")],
    ];
    for (const command of commands) {
      const run = await spawnProcess(withSmallDisk(disk, filled, command)).done;
      expectOneLine({ ...run, out: "" }, 1, disk, "too little room is left");
      expect(run.out).toBe(`${onDisk}\nfill\n`);
    }
  });
});

describe("a PostgreSQL database", () => {
  it("that nobody serves is said with its host and port, and without the password", async () => {
    const run = await spawnCli(...serve("--database", "postgresql://u:secret@127.0.0.1:1/quire")).done;
    expectOneLine(run, 1, "--database", "127.0.0.1:1 cannot be reached (connection refused)");
    expect(run.err).not.toContain("secret");
  });

  it("whose socket is not there is said with its path", async () => {
    const run = await spawnCli(...serve("--database", `postgresql:///quire?host=${folder}`)).done;
    expectOneLine(run, 1, "--database", `${folder}/.s.PGSQL.5432 cannot be reached`);
  });

  it.each([
    ["postgresql://u:secret@host:port/quire", 1, "its address cannot be read"],
    ["mysql://u:secret@127.0.0.1/quire", 2, "must be file:<path> or postgresql://"],
  ])("at %s is refused with %i: %s", async (url, code, why) => {
    const run = await spawnCli(...serve("--database", url)).done;
    expectOneLine(run, code, "--database", why);
    expect(run.err).not.toContain("secret");
  });

  it.each([
    ["never answers", () => undefined, "does not answer in time"],
    ["hangs up", (socket: Socket) => socket.destroy(), "closes the connection; is it PostgreSQL?"],
    ["lets us in and then never answers", letIn, "does not answer in time"],
  ])("whose server %s is given up", async (_, answer, why) => {
    const port = await listen(answer);
    const url = `postgresql://u:secret@127.0.0.1:${port}/quire`;
    const flags = ["--database-timeout-ms", "500"];
    expectOneLine(await spawnCli(...serve("--database", url, ...flags)).done, 1, `127.0.0.1:${port}`, why);
  });
});

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("a PostgreSQL server", () => {
  const url = (user: string, password: string, name?: string) => {
    const changed = Object.assign(new URL(postgres!.url), { username: user, password });
    if (name) changed.pathname = name;
    return changed.href;
  };
  const start = (database: string) => spawnCli(...serve("--database", database)).done;

  it("that refuses the password, or has no such user, says whom it refuses", async () => {
    expectOneLine(await start(url("postgres", "wrong")), 1, "--database", "refuses the user postgres");
    expectOneLine(await start(url("somebody", "quire")), 1, "--database", "refuses the user somebody");
    expectOneLine(await start(url("postgres", "")), 1, "--database", "refuses the user postgres");
  });

  it("that has no such database says which", async () => {
    expectOneLine(await start(url("postgres", "quire", "nowhere")), 1, "has no database nowhere");
  });

  it("that lets the user make no tables says so", async () => {
    const admin = new pg.Client({ connectionString: postgres!.url });
    await admin.connect();
    const { pathname } = new URL(postgres!.url);
    await admin.query("CREATE ROLE guest LOGIN PASSWORD 'guest'; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    await admin.end();
    expectOneLine(await start(url("guest", "guest")), 1, pathname.slice(1), "permission denied for schema");
  });
});

/** Says "you are in" and "go on" in PostgreSQL's words, and nothing to any question. */
function letIn(socket: Socket): void {
  socket.once("data", () =>
    socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49])),
  );
}

async function listen(answer: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    answer(socket);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
  });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
