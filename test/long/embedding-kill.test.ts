import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { memoryCalls } from "../memory/memory-calls.js";
import { entropy } from "../memory/memory-quire.js";
import { answersWithWords, startEmbeddingServer } from "../support/embedding-server.js";
import { type Postgres, startPostgres } from "../support/postgres.js";
import { KillableServer } from "./support/killable-server.js";

const kills = 4;
const entries = 60;
const startBoundMs = 120_000;

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

describe(`kill -9 while ${entries} texts wait for their vectors`, () => {
  test.each([
    ["SQLite", undefined],
    ["PostgreSQL", postgres],
  ] as const)(
    "%s: every text has its vector in the end",
    async (name, database) => {
      if (name === "PostgreSQL" && !database) return;
      const folder = mkdtempSync(join(tmpdir(), "quire-embedding-kill-"));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const url = database && (await database.createDatabase());
      const endpoint = await startEmbeddingServer(answersWithWords);
      onTestFinished(() => endpoint.close());
      const flags = [
        "--embedder",
        "openai",
        "--embedder-openai-url",
        endpoint.baseUrl,
        "--embedder-batch-size",
        "4",
      ];
      const start = async () => {
        const started = new KillableServer(folder, url, "quire.sock", flags);
        await started.ready(startBoundMs);
        return started;
      };
      let server = await start();
      onTestFinished(() => server.kill());
      const memory = memoryCalls(server.address);
      for (let at = 0; at < entries; at++)
        await memory.insertArchival({
          owner: entropy,
          content: `entry ${at} of the list`,
          requestId: `e${at}`,
        });
      for (let killed = 0; killed < kills; killed++) {
        // Two batches more, then the endpoint says nothing, and the server ends while it waits.
        const asked = endpoint.requests.length;
        endpoint.script = (request, index) =>
          index < asked + 2 ? answersWithWords(request, index) : { hang: true };
        await memory.search({
          query: "makes what was written searchable",
          mode: "SEARCH_MODE_KEYWORD",
        } as never);
        while (endpoint.requests.length < asked + 3) await new Promise((next) => setTimeout(next, 10));
        await server.kill();
        // What the dead server had taken is due again in five minutes: here they pass at once.
        if (url) await run(url, "UPDATE embedding_jobs SET due_us = 0");
        server = await start();
      }
      endpoint.script = answersWithWords;
      for (;;) {
        const { mode, withoutVector, pending } = await memory.search({ query: "entry 7 of the list" });
        if (mode === "SEARCH_MODE_HYBRID" && Number(withoutVector) === 0 && Number(pending) === 0) break;
        await new Promise((next) => setTimeout(next, 100));
      }
      const { results } = await memory.search({
        query: "entry 7 of the list",
        mode: "SEARCH_MODE_VECTOR",
        limit: 100,
      });
      expect(results[0]!.snippet).toBe("entry 7 of the list");
      expect(results[0]!.match!.cosine).toBeCloseTo(1, 3);
      expect(results).toHaveLength(entries);
      memory.close();
    },
    300_000,
  );
});

async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query(text);
  await client.end();
}
