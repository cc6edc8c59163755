import { describe, expect, test } from "vitest";
import { extractiveSummarizer } from "../../src/compaction/jobs/fold-threads.js";
import { summarizerSet } from "../../src/compaction/summarizers/summarizer-set.js";
import { BoundedCache } from "../../src/domain/bounded-cache.js";
import { Caches } from "../../src/domain/caches.js";
import { megabyte } from "../../src/domain/memory-size.js";
import type { Quire } from "../../src/index.js";
import { Offload } from "../../src/offload/offload.js";
import { plainRules } from "../../src/sources/rules.js";
import type { OfferedSource } from "../../src/sources/source.js";
import { createNumberedTexts, sqlOn } from "../../src/storage/sql.js";
import { heldBytes } from "../support/held-memory.js";
import { assistant, user } from "../support/messages.js";
import { exactModel } from "./agent.js";
import { type OpenedEngine, openedEngine } from "./opened-engine.js";

/** Throws when anything holds more than it may; gives the most that each held, as a share of its bound. */
class Watch {
  readonly most = new Map<string, number>();

  constructor(private readonly caches: OpenedEngine["engine"]["caches"]) {}

  look(): void {
    for (const { name, bytes, maxBytes, entries } of this.caches) {
      if (bytes > maxBytes || bytes < 0) throw new Error(`${name}: ${bytes} of ${maxBytes} bytes`);
      if (entries === 0 && bytes !== 0) throw new Error(`${name}: nothing takes ${bytes} bytes`);
      this.most.set(name, Math.max(this.most.get(name) ?? 0, bytes / maxBytes));
    }
  }
}

/** One of everything that is kept, of a size and under names of its own. */
async function use(quire: Quire, name: string, size: number, watch: Watch): Promise<string> {
  const filler = "word ".repeat(size);
  const look = async <T>(work: Promise<T>): Promise<T> => {
    const answer = await work;
    watch.look();
    return answer;
  };
  await look(
    quire.capsules.putCapsule({
      name,
      body: {
        persona: {
          corePrompt: `I am ${name}. ${filler}`,
          knobs: { intelligenceLevel: 9 },
          model: { model: exactModel },
        },
      },
    }),
  );
  const text = `What ${name} knows. ${filler.slice(0, 10_000)}`;
  await look(
    quire.memory.createBlock({
      block: { owner: { kind: "OWNER_KIND_AGENT", name }, label: "core" },
      type: "BLOCK_TYPE_CORE",
      operations: [{ operation: { $case: "setText", value: { text } } }],
    }),
  );
  const item = { $case: "entity" as const, value: { name: `${name} ${filler}`.slice(0, 200).trim() } };
  await look(quire.sources.putItems({ agent: name, items: [{ item }] }));
  await look(
    quire.sources.putSource({
      source: { name: "knowledge_graph", rule: { name: "knowledge_graph", maxItems: 3 } },
    }),
  );
  await look(quire.workspaces.putWorkspace({ name, path: "/" }));
  const documents = [{ path: "AGENTS.md", content: `Rules of ${name}. ${filler}` }];
  await look(quire.workspaces.putDocuments({ workspace: name, documents }));
  const tools = Array.from({ length: 1 + Math.floor(size / 8) }, (_, at) => ({
    name: `${name}_${at}`,
    description: filler.slice(0, 1_000),
    inputSchemaJson: '{"type":"object","properties":{"city":{"type":"string"}}}',
  }));
  await look(quire.workspaces.putToolset({ workspace: name, toolset: { name: "tools", tools } }));
  const { session } = await look(quire.ledger.createSession({ label: name }));
  let parentTurnId = "";
  for (let turn = 0; turn < 3; turn++) {
    const context = {
      session: name,
      capsule: name,
      workspace: name,
      toolset: "tools",
      settings: { modelLimits: [{ model: exactModel, maxTokens: 1_000_000 }] },
      event: { content: [{ content: { $case: "text" as const, value: { text: filler } } }] },
    };
    const { context: built } = await look(quire.assembly.buildContext({ context }));
    const recorded = await look(
      quire.ledger.recordTurn({
        session: name,
        parentTurnId,
        assemblyId: built!.assemblyId,
        messages: [user(filler), assistant(filler)],
      }),
    );
    parentTurnId = recorded.headTurnId;
  }
  await look(quire.memory.search({ query: name }));
  return session!.id;
}

/** A source whose answers are kept. */
const notes: OfferedSource = {
  source: {
    name: "notes",
    cacheKey: ({ agent }) => agent,
    fetch: ({ agent }) => ({
      blocks: [{ title: "notes", content: `Of ${agent}. `.repeat(50), entities: [] }],
    }),
  },
  defaults: { ...plainRules, cacheSeconds: 60 },
};

describe("the caches of an engine", () => {
  test("have a name and a bound in bytes each, and all of them together a sensible one", async () => {
    const { engine } = await openedEngine();
    const names = engine.caches.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.toSorted()).toEqual([
      "answers of sources",
      "branches",
      "calibrations",
      "calibrations to be written",
      "capsules",
      "changes of memory blocks",
      "connections to plug-ins",
      "erasure epochs",
      "finished turns",
      "keys of tools",
      "memory blocks",
      "memory blocks of contexts",
      "memory documents",
      "names in messages",
      "news of memory blocks",
      "receipts to be written",
      "recent receipts",
      "remembered reads",
      "search tables",
      "sources as they were met",
      "sources that were put",
      "statements of the reader",
      "statements of the writer",
      "stored layers",
      "summarizers",
      "system prompts",
      "system prompts as they were made",
      "tools",
      "what sources know",
      "workspaces",
    ]);
    for (const { maxBytes } of engine.caches) expect(maxBytes).toBeGreaterThan(0);
    const total = engine.caches.reduce((sum, { maxBytes }) => sum + maxBytes, 0);
    expect(total / megabyte).toBeLessThan(768);
  });

  test("stay within their bounds under floods of small and of large entries", async () => {
    const floods = [
      { size: 0, count: 20, share: 0.001 },
      { size: 2_000, count: 6, share: 0.005 },
    ];
    const filled = new Set<string>();
    const all = new Set<string>();
    for (const { size, count, share } of floods) {
      const { engine, quire } = await openedEngine({}, { caches: new Caches(share), sources: [notes] });
      const watch = new Watch(engine.caches);
      for (let at = 0; at < count; at++) await use(quire, `flood-${at}`, size, watch);
      for (const [name, most] of watch.most) {
        all.add(name);
        if (most > 0.3) filled.add(name);
      }
    }
    // What is never near its bound is not shown to have one. These have tests of their own, but epochs, of which a tenant has one.
    const others = [
      "calibrations",
      "calibrations to be written",
      "connections to plug-ins",
      "erasure epochs",
      "names in messages",
      "receipts to be written",
      "stored layers",
      "summarizers",
    ];
    expect([...all].filter((name) => !filled.has(name) && !others.includes(name))).toEqual([]);
  });

  test("hold nothing of a session that was deleted but what other sessions may need, too", async () => {
    const { engine, quire } = await openedEngine();
    const watch = new Watch(engine.caches);
    await use(quire, "kept", 10, watch);
    const of = (name: string) => engine.caches.find((cache) => cache.name === name)!.entries;
    const perSession = ["recent receipts", "receipts to be written"];
    await engine.assembly.receipts.flush();
    const before = perSession.map(of);
    expect(before[0]).toBe(3);
    await use(quire, "gone", 10, watch);
    expect(of("recent receipts")).toBe(6);
    await quire.ledger.deleteSession({ session: "gone" });
    expect(perSession.map(of)).toEqual(before);
  });

  test("do not grow with tools whose names are new each time", { timeout: 300_000 }, async () => {
    const { quire } = await openedEngine({}, { caches: new Caches(0.1) });
    await quire.capsules.putCapsule({ name: "a", body: { persona: { corePrompt: "I am Atlas." } } });
    await quire.ledger.createSession({ label: "s" });
    const assemble = async (round: number) => {
      const tools = Array.from({ length: 1_024 }, (_, at) => ({ name: `tool_${round}_${at}` }));
      const event = { content: [{ content: { $case: "text" as const, value: { text: "And?" } } }] };
      await quire.assembly.buildContext({ context: { session: "s", capsule: "a", event, tools } });
    };
    for (let round = 0; round < 40; round++) await assemble(round);
    const before = heldBytes();
    for (let round = 40; round < 140; round++) await assemble(round);
    expect((heldBytes() - before) / megabyte).toBeLessThan(12);
  });
});

describe("what is kept beside an engine", () => {
  test("summarizers are kept within a bound, whatever models are wished for", () => {
    const caches = new Caches(0.1);
    const settings = {
      summarizerOpenaiUrl: "http://127.0.0.1:9/v1",
      summarizerOpenaiModel: "m",
      summarizerOpenaiKey: "",
      summarizerAnthropicUrl: "",
      summarizerAnthropicModel: "",
      summarizerAnthropicKey: "",
      summarizerTimeoutMs: 10_000,
      summarizerRetries: 0,
      summarizerMaxInputTokens: 1_000,
      summarizerWindowTokens: 10_000,
    };
    const count = (text: string) => text.length;
    const set = summarizerSet(settings, count, extractiveSummarizer(new Offload(1)), undefined, caches);
    const [kept] = caches.uses;
    const wish = (model: string) => set.find("openai", { model, chunkTokens: undefined });
    const first = wish("first");
    expect(wish("first")).toBe(first);
    for (let at = 0; at < 100; at++) {
      expect(wish(`model ${at}`)?.name).toBe("openai");
      expect(kept!.bytes).toBeLessThanOrEqual(kept!.maxBytes);
    }
    expect(kept!.entries).toBeGreaterThan(5);
    expect(wish("first")).not.toBe(first);
  });

  test("SQL texts for PostgreSQL are kept within a bound, however many there are", async () => {
    const caches = new Caches(0.001);
    const texts = createNumberedTexts(caches);
    const asked: string[] = [];
    const queryable = {
      provider: "postgres" as const,
      adapterName: "asked",
      queryRaw: async ({ sql }: { readonly sql: string }) => {
        asked.push(sql);
        return { columnNames: [], columnTypes: [], rows: [] };
      },
      executeRaw: async () => 0,
    };
    const sql = sqlOn(queryable, texts);
    for (let at = 1; at <= 300; at++) {
      await sql.query(`SELECT ? IN (${Array(at).fill("?").join(",")})`, Array(at + 1).fill(0));
      expect(texts.bytes).toBeLessThanOrEqual(texts.maxBytes);
    }
    expect(asked[1]).toBe("SELECT $1 IN ($2,$3)");
    expect(texts).toBeInstanceOf(BoundedCache);
    expect(texts.entries).toBeGreaterThan(0);
  });
});
