import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load-config.js";
import { type Engine, openEngine } from "../../src/engine.js";
import { type Quire, quireOn } from "../../src/in-process/quire.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { StallWatch } from "../attack/stalls.js";
import { evalDataFolder } from "../eval-data.js";
import { atMost, type Figure } from "../figure.js";
import { type Conversation, readLocomo } from "../locomo.js";
import { cpuMs, elapsedMs, median, progress, seeded } from "../measure.js";
import { startPostgres } from "../scale/postgres.js";
import { assemblies } from "./assemblies.js";
import { agent, copies, dimensions, startVectorServer, untilSearchable, writeMessages } from "./many.js";
import { matchOf } from "./plain-fts5.js";

const mostOfFts5 = 3;
const longestStallMs = 50;

/**
 * `-- --scale`: searches of one agent's 100,000 messages, against FTS5 over the same texts in the same run, and contexts of an agent
 * with 10,000 memories. `--messages=` and `--memories=` for others, `--databases=postgresql`, and `--home=<folder>`
 * for a folder where what was written stays for the next run (SQLite).
 */
export async function scale(): Promise<Figure[]> {
  const conversations = readLocomo();
  if (!conversations) {
    progress(`recall: skipped, LoCoMo is not in ${evalDataFolder}; QUIRE_EVAL_DATA names the folder`);
    return [];
  }
  const figures: Figure[] = [];
  const only = argument("only") ?? "";
  for (const dialect of (argument("databases") ?? "sqlite").split(",")) {
    if ("searches".includes(only)) figures.push(...(await searches(conversations, dialect)));
    if ("assemblies".includes(only))
      figures.push(...(await assemblies(conversations, dialect, Number(argument("memories") ?? 10_000))));
  }
  return figures;
}

function argument(name: string): string | undefined {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

async function searches(conversations: readonly Conversation[], dialect: string): Promise<Figure[]> {
  const count = Number(argument("messages") ?? 100_000);
  const asked = Number(argument("questions") ?? 60);
  const kept = dialect === "sqlite" ? argument("home") : undefined;
  const folder = kept ?? mkdtempSync(join(tmpdir(), "quire-bench-"));
  const postgres = dialect === "postgresql" ? await startPostgres() : undefined;
  const server = await startVectorServer();
  const database = postgres ? await postgres.createDatabase("many") : `file:${join(folder, "quire.db")}`;
  const isThere = kept !== undefined && existsSync(join(folder, "quire.db"));
  const open = async () => {
    const config = loadConfig({
      env: {},
      flags: { logLevel: "silent", database, embedder: "openai", embedderOpenaiUrl: server.url },
    });
    const engine = await openEngine(config, createLogger("silent"));
    return { engine, quire: quireOn(engine) };
  };
  const fts5 = plainFts5(join(folder, "fts5.db"), () => copies(conversations, count));
  try {
    if (!isThere) {
      const { engine, quire } = await open();
      await writeMessages(quire, copies(conversations, count));
      await untilSearchable(engine);
      await quire.close();
    }
    const random = seeded(5);
    const all = conversations.flatMap(({ questions }) => questions.map(({ question }) => question));
    const questions = Array.from({ length: asked }, () => all[Math.floor(random() * all.length)]!);
    const { engine, quire } = await open();
    try {
      const name = `${count.toLocaleString("en")} messages, ${dialect}`;
      return await ask(engine, quire, fts5.find, questions, name);
    } finally {
      await quire.close();
    }
  } finally {
    fts5.close();
    await server.close();
    await postgres?.stop();
    if (!kept) rmSync(folder, { recursive: true, force: true });
  }
}

/** FTS5 by itself: one table, `porter unicode61`, bm25. */
function plainFts5(file: string, sessions: () => Iterable<readonly { readonly text: string }[]>) {
  const isThere = existsSync(file);
  const database = openDatabase(file);
  if (!isThere) {
    database.exec("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize='porter unicode61')");
    database.exec("BEGIN");
    const insert = database.prepare("INSERT INTO texts (text) VALUES (?)");
    for (const said of sessions()) for (const { text } of said) insert.run(text);
    database.exec("COMMIT");
  }
  const find = database.prepare(
    "SELECT rowid AS id, text FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT 10",
  );
  return { find: (query: string) => find.all(matchOf(query)).length, close: () => database.close() };
}

async function ask(
  engine: Engine,
  quire: Quire,
  plain: (query: string) => number,
  questions: readonly string[],
  name: string,
): Promise<Figure[]> {
  const actor = { kind: "ACTOR_KIND_AGENT", name: agent } as const;
  const search = async (query: string, mode: "SEARCH_MODE_HYBRID" | "SEARCH_MODE_KEYWORD") => {
    const answer = await quire.memory.search({ query, actor, mode });
    if (answer.mode !== mode || answer.results.length === 0 || answer.withoutVector > 0)
      throw new Error(`${query}: ${JSON.stringify({ ...answer, results: answer.results.length })}`);
  };
  const watch = new StallWatch();
  const stalls = async (what: string, work: () => Promise<void>): Promise<Figure[]> => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    watch.reset();
    await work();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { ms, ownMs } = watch.longest;
    progress(`recall: ${what}: longest stall ${ms.toFixed(0)} ms, ${ownMs.toFixed(0)} ms of it its own`);
    const own = atMost(`recall: longest stall, ${what}, ${name}`, ownMs, longestStallMs);
    return [{ ...own, unit: "ms", note: "less what the thread waited for a CPU; at most" }];
  };
  const figures: Figure[] = [];
  let coldMs = 0;
  figures.push(
    ...(await stalls("first search of a server", async () => {
      coldMs = await elapsedMs(() => search(questions[0]!, "SEARCH_MODE_HYBRID"));
    })),
    { figure: `recall: first search of a server, ${name}`, value: coldMs, unit: "ms" },
  );
  // The vectors of the questions are ready, and the code is compiled.
  for (const question of questions) await search(question, "SEARCH_MODE_HYBRID");
  for (const question of questions.slice(0, 20)) plain(question);
  figures.push(
    ...(await stalls("hybrid", async () => {
      for (const question of questions) await search(question, "SEARCH_MODE_HYBRID");
    })),
    ...(await stalls("hybrid, eight at once", async () => {
      for (let at = 0; at < questions.length; at += 8)
        await Promise.all(questions.slice(at, at + 8).map((one) => search(one, "SEARCH_MODE_HYBRID")));
    })),
  );
  const samples = { fts5: [[], []], hybrid: [[], []], keyword: [[], []] } as Record<
    string,
    [number[], number[]]
  >;
  const measured = async (kind: string, work: () => Promise<unknown>) => {
    let ms = 0;
    const cpu = await cpuMs(async () => {
      ms = await elapsedMs(work);
    });
    samples[kind]![0].push(ms);
    samples[kind]![1].push(cpu);
  };
  for (const question of questions) {
    await measured("fts5", async () => plain(question));
    await measured("hybrid", () => search(question, "SEARCH_MODE_HYBRID"));
    await measured("keyword", () => search(question, "SEARCH_MODE_KEYWORD"));
  }
  const p50 = (kind: string, at: 0 | 1) => median(samples[kind]![at]);
  for (const kind of ["fts5", "hybrid", "keyword"])
    figures.push(
      { figure: `recall: ${kind}, p50, ${name}`, value: p50(kind, 0), unit: "ms" },
      { figure: `recall: ${kind}, CPU, p50, ${name}`, value: p50(kind, 1), unit: "ms" },
    );
  figures.push(
    atMost(`recall: hybrid / plain FTS5, p50, ${name}`, p50("hybrid", 0) / p50("fts5", 0), mostOfFts5),
    atMost(`recall: hybrid / plain FTS5, CPU, p50, ${name}`, p50("hybrid", 1) / p50("fts5", 1), mostOfFts5),
    ...memory(engine, name),
  );
  return figures;
}

/** What is kept in memory for one partition. */
function memory({ caches }: Engine, name: string): Figure[] {
  return caches
    .filter((cache) => cache.name === "search tables" || cache.name === "vectors")
    .map(({ name: cache, bytes, maxBytes }) => ({
      figure: `recall: ${cache}, ${dimensions} dimensions, ${name}`,
      value: bytes / 2 ** 20,
      unit: "MiB",
      limit: maxBytes / 2 ** 20,
      holds: bytes <= maxBytes,
      note: "at most",
    }));
}
