import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectParity, openParity } from "../../support/parity/open.js";

const sql = (text: string, ...args: unknown[]) => ({ sql: text, args, argTypes: [] });

/** Another process that takes the write lock, writes a tag, and commits when it is told to. */
async function otherWriter(path: string) {
  const script = `
    const { DatabaseSync } = process.getBuiltinModule("node:sqlite") ?? require("@photostructure/sqlite");
    const database = new DatabaseSync(${JSON.stringify(path)});
    database.exec("BEGIN IMMEDIATE; INSERT INTO Tag (label) VALUES ('other')");
    console.log("locked");
    process.stdin.once("end", () => database.exec("COMMIT")).resume();`;
  const child = spawn(process.execPath, ["--no-warnings", "-e", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  await once(child.stdout, "data");
  const exited = once(child, "exit");
  const commit = async () => {
    child.stdin.end();
    await exited;
  };
  return { commit };
}

describe("contention", () => {
  it("a write waits for another process's transaction without blocking the event loop", async () => {
    const { client, path } = await openParity({ busyTimeoutMs: 120_000 });
    const other = await otherWriter(path);
    let isWritten = false;
    const ours = client.tag.create({ data: { label: "ours" } }).then(() => {
      isWritten = true;
    });
    // A write that blocked would never let the other process be told.
    for (let turns = 0; turns < 100; turns++) await sleep(1);
    expect(isWritten).toBe(false);
    await Promise.all([other.commit(), ours]);
    expect(await client.tag.count()).toBe(2);
  });

  it("a lock held for longer than the timeout is reported as such", async () => {
    const { adapter, path } = await openParity({ busyTimeoutMs: 100 });
    const other = await otherWriter(path);
    const busy = { cause: { kind: "SocketTimeout" } };
    await expect(adapter.startTransaction()).rejects.toMatchObject(busy);
    await expect(adapter.executeRaw(sql("DELETE FROM Tag"))).rejects.toMatchObject(busy);
    expect((await adapter.queryRaw(sql("SELECT COUNT(*) FROM Tag"))).rows).toEqual([[0]]);
    await other.commit();
    expect(await adapter.executeRaw(sql("DELETE FROM Tag"))).toBe(1);
  });

  it("two writers of one process on one file lose no update", async () => {
    const { client, path } = await openParity();
    const second = await connectParity({ path });
    const where = { tenant_key: { tenant: "t", key: "k" } };
    await client.counter.create({ data: { tenant: "t", key: "k", value: 0 } });
    const increment = (index: number) =>
      (index % 2 === 0 ? client : second.client).$transaction(
        async (tx) => {
          const { value } = await tx.counter.findUniqueOrThrow({ where });
          await sleep(1);
          await tx.counter.update({ where, data: { value: value + 1 } });
        },
        { maxWait: 120_000, timeout: 120_000 },
      );
    await Promise.all(Array.from({ length: 12 }, (_, index) => increment(index)));
    expect(await client.counter.findUnique({ where })).toMatchObject({ value: 12 });
  });

  it("many connections may open a new database at once", async () => {
    const { path } = await openParity();
    const fresh = `${path}.fresh`;
    const opened = await Promise.all(Array.from({ length: 6 }, () => connectParity({ path: fresh })));
    await Promise.all(
      opened.map(({ adapter }) => adapter.executeRaw(sql("CREATE TABLE IF NOT EXISTS t (a)"))),
    );
  });
});
