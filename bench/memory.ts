import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LoroDoc, type PeerID } from "loro-crdt";
import { buildContext } from "../src/assembly/build-context.js";
import { loadConfig } from "../src/config/load-config.js";
import { ContextRequest } from "../src/contract/gen/quire/v1/assembly_service.js";
import { Caches } from "../src/domain/caches.js";
import { type Engine, openEngine } from "../src/engine.js";
import { quireOn } from "../src/in-process/quire.js";
import { createQuire, type Quire } from "../src/index.js";
import { createLogger } from "../src/telemetry/logger.js";
import { StallWatch } from "./attack/stalls.js";
import { atMost, type Figure } from "./figure.js";
import { tenantId } from "./ledger-fixture.js";
import { cpuMs, elapsedMs, interleaved, median, progress, prose, seeded } from "./measure.js";
import { RawInserts } from "./memory-floor.js";

const contextLimit = 1.3;
const openLimit = 3;
const heldLimitMb = 200;
const stallLimitMs = 50;
const rounds = 21;

const agent = (name: string) => ({ kind: "OWNER_KIND_AGENT", name }) as const;
const setText = (text: string) => ({ operation: { $case: "setText" as const, value: { text } } });
const append = (text: string) => ({ operation: { $case: "appendText" as const, value: { text } } });
const stateFields = [
  { name: "mood", type: "FIELD_TYPE_TEXT" as const },
  { name: "score", type: "FIELD_TYPE_COUNTER" as const },
];
const event = { content: [{ content: { $case: "text" as const, value: { text: "And now?" } } }] };

type PartialContext = Parameters<typeof ContextRequest.fromPartial>[0];
type Part = (quire: Quire, database: string, engine: Engine) => Promise<Figure[]>;

const parts: Readonly<Record<string, Part>> = { contexts, opening, writing, synchronizing, merging, holding };

/** Memory blocks: what they cost a context, to open, to write, to synchronize and to hold. `-- --only=<word>` runs the parts with that word in their name. */
export async function run(): Promise<Figure[]> {
  const only = process.argv.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const database = `file:${join(folder, "quire.db")}`;
  const config = loadConfig({ env: {}, flags: { database, logLevel: "silent" } });
  const engine = await openEngine(config, createLogger("silent"));
  const quire = quireOn(engine);
  try {
    const figures: Figure[] = [];
    for (const [name, part] of Object.entries(parts))
      if (name.includes(only)) figures.push(...(await part(quire, database, engine)));
    return figures;
  } finally {
    await quire.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An agent with 50 blocks against one without any, before a turn was recorded and after. All system prompts have as many bytes. */
async function contexts(quire: Quire, _database: string, engine: Engine): Promise<Figure[]> {
  progress("contexts with 50 blocks and without");
  const random = seeded(3);
  const texts = Array.from({ length: 50 }, () => prose(random, 400));
  const persona = (corePrompt: string) => ({ persona: { corePrompt, model: { model: "gpt-4o" } } });
  await quire.capsules.putCapsule({ name: "many", body: persona("You remember.") });
  await quire.capsules.putCapsule({ name: "none", body: persona(`You remember.\n\n${texts.join("\n\n")}`) });
  for (const [index, text] of texts.entries()) {
    const block = { owner: agent("many"), label: `block-${index}` };
    await quire.memory.createBlock({ block, type: "BLOCK_TYPE_CORE", operations: [setText(text)] });
  }
  const turns = 20;
  for (const name of ["many", "none"])
    for (const count of [turns, 0]) await talk(quire, `${name} ${count}`, name, count);
  const assembled = (context: PartialContext) =>
    buildContext(engine.assembly, tenantId, ContextRequest.fromPartial(context));
  const answered = (context: PartialContext) => quire.assembly.buildContext({ context });
  return [
    atMost(
      "a warm context with 50 blocks, against one without",
      await ratioOf(turns, assembled),
      contextLimit,
    ),
    atMost("the same in a session without turns", await ratioOf(0, assembled), contextLimit),
    {
      figure: `the same with ${turns} turns, as messages of a caller in process`,
      value: await ratioOf(turns, answered),
      note: `each turn names the ${texts.length} blocks`,
    },
  ];
}

/** What contexts of the agent with blocks cost, against those of the one without. */
async function ratioOf(turns: number, build: (context: PartialContext) => Promise<unknown>): Promise<number> {
  const sample = (name: string) => () => {
    const context = { session: `${name} ${turns}`, capsule: name, event };
    return cpuMs(async () => {
      for (let at = 0; at < 20; at++) await build(context);
    });
  };
  const samples = { many: sample("many"), none: sample("none") };
  for (let at = 0; at < 80; at++) for (const take of Object.values(samples)) await take();
  const { many, none } = await interleaved(3 * rounds, samples);
  return many / none;
}

/** A session of so many turns, each of which answers a context. */
async function talk(quire: Quire, session: string, capsule: string, turns: number): Promise<void> {
  await quire.ledger.createSession({ label: session });
  for (let at = 0; at < turns; at++) {
    const { context } = await quire.assembly.buildContext({ context: { session, capsule, event } });
    const { assemblyId, parentTurnId } = context!;
    const said = [{ content: { $case: "text" as const, value: { text: `Answer ${at}.` } } }];
    await quire.ledger.recordTurn({
      session,
      parentTurnId,
      assemblyId,
      messages: [{ role: "MESSAGE_ROLE_USER", parts: event.content }],
      result: { messages: [{ role: "MESSAGE_ROLE_ASSISTANT", parts: said }] },
    });
  }
}

const openedSchema: NonNullable<Parameters<Quire["memory"]["createBlock"]>[0]["schema"]> = {
  schema: {
    $case: "composite",
    value: {
      sections: [
        { name: "notes", schema: { $case: "text", value: {} } },
        { name: "state", schema: { $case: "map", value: { fields: stateFields } } },
      ],
    },
  },
};

/** The edit of a block of notes and fields: its history grows, what it holds does not. */
function editOf(at: number, random: () => number) {
  if (at % 3 === 0) return { section: "notes", ...setText(prose(random, 200)) };
  const operation =
    at % 3 === 1
      ? { $case: "setField" as const, value: { field: "mood", valueJson: JSON.stringify(`mood ${at}`) } }
      : { $case: "incrementCounter" as const, value: { field: "score", by: 1 } };
  return { section: "state", operation };
}

/** GetBlock of blocks whose content is only in their documents, by an engine that keeps none open. */
async function opening(quire: Quire, database: string): Promise<Figure[]> {
  progress("blocks of 100 and of 10,000 edits");
  const owner = agent("edited");
  const random = seeded(7);
  const edit = async (label: string, from: number, to: number) => {
    for (let at = from; at < to; at += 50) {
      const ats = Array.from({ length: Math.min(50, to - at) }, (_, more) => at + more);
      const call = (one: number) => ({ block: { owner, label }, operations: [editOf(one, random)] });
      await Promise.all(ats.map((one) => quire.memory.updateBlock(call(one))));
    }
  };
  for (const [label, edits] of [
    ["short", 100],
    ["long", 10_000],
  ] as const) {
    await quire.memory.createBlock({ block: { owner, label }, schema: openedSchema });
    // The creation is a revision, too: the last of these edits folds the snapshot.
    await edit(label, 1, edits);
  }
  const cold = await createQuire({ database, logLevel: "silent" }, { caches: new Caches(0) });
  const sample = (label: string) => () => elapsedMs(() => cold.memory.getBlock({ block: { owner, label } }));
  const measure = async () => {
    for (let at = 0; at < 10; at++) for (const label of ["long", "short"]) await sample(label)();
    return interleaved(51, { long: sample("long"), short: sample("short") });
  };
  const folded = await measure();
  for (const label of ["short", "long"]) await edit(label, 0, 50);
  const tailed = await measure();
  await cold.close();
  const floor = await importMs(quire, { owner, label: "long" });
  return [
    atMost("opening a block of 10,000 edits, against one of 100", folded.long / folded.short, openLimit),
    { figure: "opening a block of 10,000 edits", value: folded.long, unit: "ms" },
    { figure: "the library's import of its snapshot", value: floor, unit: "ms" },
    { figure: "opening it with 50 edits behind its snapshot", value: tailed.long, unit: "ms" },
    { figure: "opening a block of 100 edits, and 50 behind its snapshot", value: tailed.short, unit: "ms" },
  ];
}

/** What the library takes for the document alone. */
async function importMs(quire: Quire, block: { owner: ReturnType<typeof agent>; label: string }) {
  const whole = new LoroDoc();
  whole.import((await quire.memory.syncBlock({ block })).update);
  const snapshot = whole.export({ mode: "snapshot" });
  const sample = () =>
    elapsedMs(async () => {
      const doc = new LoroDoc();
      doc.import(snapshot);
      doc.getText("section:notes:text").toString();
      doc.free();
    });
  return (await interleaved(51, { ms: sample })).ms;
}

async function writing(quire: Quire, database: string): Promise<Figure[]> {
  progress("an edit against a raw insert");
  const floor = new RawInserts(`${database.slice("file:".length)}.floor`);
  const block = { owner: agent("writer"), label: "notes" };
  await quire.memory.createBlock({ block, charLimit: 1_000_000 });
  const edit = () =>
    elapsedMs(() => quire.memory.updateBlock({ block, operations: [append("a few more words ")] }));
  for (let at = 0; at < 200; at++) await edit();
  const { ours, raw } = await interleaved(301, {
    ours: edit,
    raw: () => elapsedMs(async () => floor.insert("a few more words ")),
  });
  const all = await elapsedMs(() =>
    Promise.all(
      Array.from({ length: 1_000 }, () => quire.memory.updateBlock({ block, operations: [append("more ")] })),
    ),
  );
  floor.close();
  return [
    { figure: "an edit and its answer", value: ours, unit: "ms" },
    { figure: "an edit and its answer, against a raw insert", value: ours / raw },
    { figure: "edits of one block a second, 1,000 at once", value: 1_000 / (all / 1_000), unit: "/s" },
  ];
}

const actor = { kind: "ACTOR_KIND_SYSTEM" as const };

/** A new block, and the copy of a client that may write to it. */
async function copyOfNew(quire: Quire, block: { owner: ReturnType<typeof agent>; label: string }) {
  await quire.memory.createBlock({ block, charLimit: 1_000_000, operations: [setText("start ")] });
  const { update, peerId } = await quire.memory.syncBlock({ block, actor, newPeer: true });
  const doc = new LoroDoc();
  doc.import(update);
  doc.setPeerId(peerId as PeerID);
  return doc;
}

async function synchronizing(quire: Quire): Promise<Figure[]> {
  progress("a checked sync of 10 KB");
  const block = { owner: agent("synced"), label: "notes" };
  const doc = await copyOfNew(quire, block);
  const random = seeded(5);
  const sync = async () => {
    const from = doc.version();
    doc.getText("text").insert(0, prose(random, 10_000));
    doc.commit();
    const bytes = Buffer.from(doc.export({ mode: "update", from }));
    const version = [...doc.version().toJSON()].map(([peer, counter]) => ({ peer: String(peer), counter }));
    return elapsedMs(() => quire.memory.syncBlock({ block, actor, update: bytes, version }));
  };
  await sync();
  const { ms } = await interleaved(15, { ms: sync });
  return [{ figure: "a checked sync of 10 KB", value: ms, unit: "ms" }];
}

/** What the event loop notices of a client that missed 10,000 edits, and of a look at what a block said before all of them. */
async function merging(quire: Quire): Promise<Figure[]> {
  progress("late updates of a block of 10,000 edits");
  const block = { owner: agent("late"), label: "notes" };
  const doc = await copyOfNew(quire, block);
  for (let at = 0; at < 10_000; at += 50) {
    const edits = Array.from({ length: 50 }, (_, more) => append(`word ${at + more} `));
    await Promise.all(edits.map((edit) => quire.memory.updateBlock({ block, operations: [edit] })));
  }
  const watch = new StallWatch();
  const measure = async (work: () => Promise<unknown>) => {
    const times: number[] = [];
    // What was prepared leaves garbage, which is not measured.
    globalThis.gc?.();
    await new Promise((next) => setTimeout(next, 50));
    watch.reset();
    for (let at = 0; at < 5; at++) times.push(await elapsedMs(work));
    // The watch looks again before anything else is measured.
    await new Promise((next) => setTimeout(next, 50));
    return { ms: median(times), stall: watch.longest };
  };
  let sent = doc.version();
  const merged = await measure(async () => {
    doc.getText("text").insert(0, "late ");
    doc.commit();
    const bytes = Buffer.from(doc.export({ mode: "update", from: sent }));
    sent = doc.version();
    await quire.memory.syncBlock({ block, actor, update: bytes });
  });
  const early = await measure(() => quire.memory.getBlockRevision({ block, revision: 100 }));
  const restored = await measure(() => quire.memory.restoreBlock({ block, actor, revision: 9_000 }));
  const stalls = [merged.stall, early.stall, restored.stall];
  const stallMs = Math.max(...stalls.map(({ ms }) => ms));
  const workMs = Math.max(...stalls.map((stall) => stall.workMs)).toFixed(1);
  const figure = "longest stall of the event loop: late updates, early revisions";
  return [
    {
      figure,
      value: stallMs,
      unit: "ms",
      limit: stallLimitMs,
      holds: stallMs <= stallLimitMs,
      note: `at most; at work ${workMs} ms`,
    },
    { figure: "an update that comes 10,000 edits late", value: merged.ms, unit: "ms" },
    { figure: "reading what a block said 9,900 edits ago", value: early.ms, unit: "ms" },
    { figure: "restoring what it said 1,000 edits ago", value: restored.ms, unit: "ms" },
  ];
}

/** 10,000 blocks, each opened once, with a cache that holds some hundreds of them. */
async function holding(_: Quire, database: string): Promise<Figure[]> {
  progress("10,000 blocks in a bounded cache");
  const quire = await createQuire({ database, logLevel: "silent" }, { caches: new Caches(0.5) });
  const blockOf = (at: number) => ({ owner: agent(`holder-${at % 100}`), label: `b${at}` });
  const put = (at: number) =>
    quire.memory.createBlock({ block: blockOf(at), operations: [setText(`block ${at}`)] });
  const look = (at: number) => quire.memory.getBlock({ block: blockOf(at) });
  const inSlices = async (count: number, work: (at: number) => Promise<unknown>) => {
    for (let at = 0; at < count; at += 100)
      await Promise.all(Array.from({ length: 100 }, (_, more) => work(at + more)));
  };
  await inSlices(2_000, put);
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  await inSlices(8_000, (at) => put(at + 2_000));
  await inSlices(10_000, look);
  globalThis.gc?.();
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
  await quire.close();
  const figure = "memory that 8,000 more blocks take";
  return [
    { figure, value: grown, unit: "MB", limit: heldLimitMb, holds: grown <= heldLimitMb, note: "at most" },
  ];
}
