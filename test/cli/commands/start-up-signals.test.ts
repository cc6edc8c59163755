import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { openDatabase } from "../../../src/storage/driver/database-sync.js";
import { startPostgres } from "../../support/postgres.js";
import { serve } from "../support/refused-start.js";
import { type RunningCli, spawnCli } from "../support/run-cli.js";

/** The built command, told to end while it starts and waits for something that does not come. */

const folder = mkdtempSync(join(tmpdir(), "quire-start-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const signals = ["SIGTERM", "SIGINT"] as const;

async function expectEnd(cli: RunningCli, signal: (typeof signals)[number]): Promise<void> {
  cli.child.kill(signal);
  expect(await cli.done).toMatchObject({ out: "", err: "" });
  expect(cli.child.signalCode).toBe(signal);
}

describe.each(signals)("%s ends a start at once", (signal) => {
  it("that waits for a PostgreSQL server which does not answer", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const cli = spawnCli(...serve("--database", `postgresql://u:p@127.0.0.1:${port}/quire`));
    await once(server, "connection");
    await expectEnd(cli, signal);
  });

  it.skipIf(postgres === undefined)("that waits for the migrations of another server", async () => {
    const url = await postgres!.createDatabase();
    const other = new pg.Client({ connectionString: url });
    onTestFinished(() => other.end());
    await other.connect();
    await other.query("SELECT pg_advisory_lock(72707369)");
    const cli = spawnCli(...serve("--database", url));
    await vi.waitUntil(async () => {
      const { rows } = await other.query(
        `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
          WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()`,
      );
      return rows.length > 0;
    }, patience);
    await expectEnd(cli, signal);
  });

  it.skipIf(process.platform !== "linux")("that waits for a file which another process locks", async () => {
    const path = join(folder, `locked-${signal}.db`);
    const other = openDatabase(path);
    onTestFinished(() => other.close());
    other.exec("CREATE TABLE other (a); BEGIN EXCLUSIVE");
    const cli = spawnCli(...serve("--database", `file:${path}`));
    await vi.waitUntil(() => hasOpen(cli.child.pid!, path), patience);
    await expectEnd(cli, signal);
  });

  it("that waits for a file of settings to be written", async () => {
    const path = join(folder, `pipe-${signal}`);
    execFileSync("mkfifo", [path]);
    const cli = spawnCli(...serve("--catalogue-file", path));
    // A pipe can be opened for writing at once only when somebody reads it.
    const writer = await vi.waitUntil(() => tryOpen(path), patience);
    await expectEnd(cli, signal);
    closeSync(writer);
  });
});

const patience = { timeout: 120_000, interval: 20 };

function hasOpen(pid: number, path: string): boolean {
  const files = `/proc/${pid}/fd`;
  return readdirSync(files).some((name) => {
    try {
      return readlinkSync(join(files, name)) === path;
    } catch {
      return false;
    }
  });
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}
