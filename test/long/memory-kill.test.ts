import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Quire } from "../../src/index.js";
import {
  checkContested,
  createContested,
  editWords,
  syncWords,
  type Written,
} from "../memory/concurrent-writers.js";
import { memoryCalls } from "../memory/memory-calls.js";
import { Random } from "../model/random.js";
import { type Postgres, startPostgres } from "../support/postgres.js";
import { KillableServer } from "./support/killable-server.js";

const edits = Number(process.env.QUIRE_MEMORY_EDITS ?? 250);
const kills = Number(process.env.QUIRE_MEMORY_KILLS ?? 5);
const writers = 8;
const startBoundMs = 120_000;

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

/** A call that fails because its server was killed is made again, with the same request id. */
const later = () => new Promise<void>((next) => setTimeout(next, 20));

describe(`kill -9 under ${writers} writers of one block, ${edits} edits each`, () => {
  test.each([
    ["SQLite, one server", undefined, 1],
    ["PostgreSQL, two servers", postgres, 2],
  ] as const)(
    "%s: every acknowledged edit is there, all servers agree, counters add up",
    async (_, database, count) => {
      if (count === 2 && !database) return;
      const folder = mkdtempSync(join(tmpdir(), "quire-memory-kill-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const url = database && (await database.createDatabase());
      const start = (at: number) => new KillableServer(folder, url, `quire-${at}.sock`);
      const servers = Array.from({ length: count }, (_, at) => start(at));
      onTestFinished(async () => {
        for (const server of servers) await server.kill();
      });
      for (const server of servers) await server.ready(startBoundMs);
      const clients = Array.from({ length: writers }, (_, at) => memoryCalls(servers[at % count]!.address));
      const quires = clients.map((memory) => ({ memory }) as unknown as Quire);
      await createContested(quires[0]!);
      const written: Written[] = Array.from({ length: writers + 1 }, () => ({ words: [] }));
      // One that keeps a copy, before the first kill: a copy whose call was cut off would have to look what became of it.
      await syncWords(quires[0]!, writers, 20, written[writers]!);
      let isDone = false;
      const writing = Promise.all(
        quires.map((quire, at) => editWords(quire, at, edits, written[at]!, later)),
      ).finally(() => {
        isDone = true;
      });
      const random = new Random(7);
      let killed = 0;
      while (!isDone && killed < kills) {
        await new Promise((next) => setTimeout(next, 300 + random.below(1_500)));
        if (isDone) break;
        const at = killed++ % count;
        await servers[at]!.kill();
        servers[at] = start(at);
        await servers[at]!.ready(startBoundMs);
      }
      await writing;
      expect(killed).toBeGreaterThan(0);
      await checkContested(quires.slice(0, count), written);
      for (const client of clients) client.close();
    },
    600_000,
  );
});
