import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { status as Code, type ServiceError } from "@grpc/grpc-js";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Quire } from "../../src/index.js";
import {
  checkContested,
  createContested,
  editWords,
  Meeting,
  syncWords,
  type Written,
} from "../memory/concurrent-writers.js";
import type { LoroClient } from "../memory/loro-client.js";
import { memoryCalls } from "../memory/memory-calls.js";
import { type Postgres, startPostgres } from "../support/postgres.js";
import { KillableServer } from "./support/killable-server.js";

const edits = Number(process.env.QUIRE_MEMORY_EDITS ?? 100);
const kills = Number(process.env.QUIRE_MEMORY_KILLS ?? 5);
const writers = 8;
const startBoundMs = 120_000;

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

const cutOff: readonly (Code | undefined)[] = [Code.UNAVAILABLE, Code.CANCELLED, Code.UNKNOWN, Code.INTERNAL];

/** A call that fails because its server was killed is made again. */
async function later(error: unknown): Promise<void> {
  const { code, metadata } = error as Partial<ServiceError>;
  // What a server answered itself has a reason.
  const hasReason = metadata?.get("grpc-status-details-bin").length;
  if (!cutOff.includes(code) || (hasReason && code !== Code.UNAVAILABLE)) throw error;
  await new Promise<void>((next) => setTimeout(next, 20));
}

describe(`kill -9 under ${writers} writers of one block, ${edits} edits each, half of them through SyncBlock`, () => {
  test.each([
    ["SQLite, one server", undefined, 1],
    ["PostgreSQL, two servers", postgres, 2],
  ] as const)(
    "%s: every acknowledged edit is there, all servers agree, counters add up",
    async (name, database, count) => {
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
      const written: Written[] = Array.from({ length: writers }, () => ({ words: [] }));
      const copies: LoroClient[] = [];
      const meeting = new Meeting(writers / 2);
      let isDone = false;
      const writing = Promise.all(
        quires.map(async (quire, at) => {
          // Half of them, on each server, keep a copy of their own.
          if (at < writers / 2) await editWords(quire, at, edits, written[at]!, later);
          else copies.push(await syncWords(quire, at, edits, written[at]!, later, meeting));
        }),
      ).finally(() => {
        isDone = true;
      });
      const acknowledged = () => written.reduce((sum, { words }) => sum + words.length, 0);
      let killed = 0;
      // Spread over the whole run, wherever the server is at that moment.
      while (!isDone && killed < kills) {
        await new Promise((next) => setTimeout(next, 5));
        if (acknowledged() < ((killed + 1) * writers * edits) / (kills + 1)) continue;
        const at = killed++ % count;
        await servers[at]!.kill();
        servers[at] = start(at);
        await servers[at]!.ready(startBoundMs);
      }
      await writing;
      expect(killed).toBe(kills);
      await checkContested(quires.slice(0, count), written, copies);
      expect(acknowledged()).toBe(writers * edits);
      console.log(`${name}: ${acknowledged()} edits, half of them through SyncBlock, ${killed} kills`);
      for (const client of clients) client.close();
    },
    3_600_000,
  );
});
