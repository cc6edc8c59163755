import { loadConfig } from "../src/config/load-config.js";
import { openEngine } from "../src/engine.js";
import type { Dialect } from "../src/storage/sql.js";
import { createLogger } from "../src/telemetry/logger.js";
import { atMost, type Figure } from "./figure.js";
import { interleaved, median, progress } from "./measure.js";
import { readArguments, type ScaleArguments } from "./scale/arguments.js";
import { sessionLengths, turnsPerSet } from "./scale/conversation.js";
import { fillLedger, fillReceipts, oldUs } from "./scale/fill.js";
import { type Home, makeHome } from "./scale/homes.js";
import type { Noticed } from "./scale/maintenance.js";
import { Serving } from "./scale/serving.js";
import { makeTemplates, type TemplateSession } from "./scale/template.js";
import type { Work } from "./scale/work.js";

const slowest = 1.5;
const largestRssMb = 600;
const longestStallMs = 50;
const rounds = 15;
const starts = 5;

/**
 * A large database against one of a thousand turns: the same sessions of all lengths, many times over. Both are served by processes
 * of their own, which are asked in turns. Beside each figure stands what plain SQL takes on the same databases.
 */
export async function run(): Promise<Figure[]> {
  const args = readArguments(process.argv);
  progress("scale: a thousand turns, to be copied");
  const templates = await makeTemplates();
  const figures: Figure[] = [];
  for (const dialect of args.databases) {
    const home = await makeHome(dialect);
    try {
      figures.push(...(await compare(dialect, home, templates, args)));
    } finally {
      await home.close();
    }
  }
  return figures;
}

/** A database that was filled, and how it is to be served. */
interface Filled {
  readonly settings: { readonly flags: object; readonly sets: number; readonly erasedSets: number };
  readonly turnBytes: number;
  readonly bytes: number;
}

async function compare(
  dialect: Dialect,
  home: Home,
  templates: readonly TemplateSession[],
  args: ScaleArguments,
): Promise<Figure[]> {
  const small = await fillOne(dialect, home, templates, turnsPerSet);
  const large = await fillOne(dialect, home, templates, args.turns);
  const payload = templates
    .flatMap(({ messages }) => messages)
    .reduce((sum, { wire }) => sum + wire.length, 0);
  const name = (what: string) => `scale: ${dialect}: ${what}`;
  const sizes: Figure[] = [
    {
      figure: name("bytes of messages in a turn"),
      value: payload / turnsPerSet,
      unit: "B",
      note: "the floor",
    },
    { figure: name("bytes on disk per turn at 1,000 turns"), value: small.turnBytes, unit: "B" },
    {
      figure: name(`bytes on disk per turn at ${shown(args.turns)} turns`),
      value: large.turnBytes,
      unit: "B",
    },
    { figure: name("bytes on disk in all"), value: large.bytes / 1e6, unit: "MB", note: "with receipts" },
  ];
  const started = await startUps(small, large);
  const servers = { small: await Serving.start(small.settings), large: await Serving.start(large.settings) };
  const calls = await callTimes(servers);
  const rss = { small: servers.small.rssMb, large: servers.large.rssMb };
  await servers.small.end();
  const upkeep = await maintain(name, servers.large);
  await servers.large.end();
  const held = await memory(large, args.contexts);
  return [
    ...sizes,
    ...pair(name("start-up"), "ms", { small: median(started.small), large: median(started.large) }),
    ...pair(name("RSS after start-up"), "MB", {
      small: median(started.smallRss),
      large: median(started.largeRss),
    }),
    ...calls.flatMap(({ what, times, limited }) => pair(name(what), "ms", times, limited)),
    ...pair(name("RSS after those calls"), "MB", rss),
    ...held.map((mb, quarter): Figure => {
      const figure = name(`RSS after ${shown((args.contexts / held.length) * (quarter + 1))} contexts`);
      const isLast = quarter === held.length - 1;
      const limit = isLast ? { limit: largestRssMb, holds: mb <= largestRssMb, note: "at most" } : {};
      return { figure, value: mb, unit: "MB", ...limit };
    }),
    ...upkeep,
  ];
}

/** Both values, and how many times as much the large database takes. */
function pair(
  what: string,
  unit: string,
  { small, large }: Readonly<Record<"small" | "large", number>>,
  limited = true,
): Figure[] {
  return [
    { figure: `${what}, small`, value: small, unit },
    { figure: `${what}, large`, value: large, unit },
    limited
      ? atMost(`${what}, large / small`, large / small, slowest)
      : { figure: `${what}, large / small`, value: large / small, note: "the floor" },
  ];
}

async function fillOne(
  dialect: Dialect,
  home: Home,
  templates: readonly TemplateSession[],
  turns: number,
): Promise<Filled> {
  const sets = turns / turnsPerSet;
  const database = await home.create(`quire_${turns}`);
  const flags = {
    database,
    primeFile: `${home.folder}/prime.md`,
    listen: ["127.0.0.1:0"],
    // Nothing is swept before its time comes.
    requestRetentionHours: 24 * 365,
    receiptRetentionHours: 24 * 365,
  };
  const config = loadConfig({ flags, env: {} });
  const title = `${dialect}, ${shown(turns)} turns`;
  const opened = () => openEngine(config, createLogger("silent"));
  let engine = await opened();
  const copies = await fillLedger(engine, templates, sets, title);
  await engine.close();
  const turnBytes = (await home.settledBytes(database)) / turns;
  engine = await opened();
  progress(`scale: ${title}: receipts`);
  await fillReceipts(engine, copies);
  await engine.close();
  const bytes = await home.settledBytes(database);
  const erasedSets = Math.min(sets >> 1, erasedSessions / sessionLengths.length);
  return { settings: { flags, sets, erasedSets }, turnBytes, bytes };
}

const erasedSessions = 1_000;

async function startUps(small: Filled, large: Filled) {
  progress("scale: starting");
  const found = {
    small: [] as number[],
    large: [] as number[],
    smallRss: [] as number[],
    largeRss: [] as number[],
  };
  for (let at = 0; at < starts; at++) {
    for (const [size, rss, filled] of [
      ["small", "smallRss", small],
      ["large", "largeRss", large],
    ] as const) {
      const serving = await Serving.start(filled.settings);
      found[size].push(serving.startMs);
      found[rss].push(serving.rssMb);
      await serving.end();
    }
  }
  return found;
}

type Measured = { [Key in keyof Work]: Work[Key] extends () => Promise<number> ? Key : never }[keyof Work];

/** What is measured, in an order in which nothing changes what comes after it. */
const measured: readonly (readonly [Measured, string, "limited" | "floor"])[] = [
  ["plainRead", "24 turns by plain SQL", "floor"],
  ["coldAssembly", "cold assembly", "limited"],
  ["warmAssembly", "warm assembly", "limited"],
  ["newestSessions", "ListSessions, the newest", "limited"],
  ["olderSessions", "ListSessions, the second page", "limited"],
  ["sessionsByPrefix", "ListSessions, by a prefix of all", "limited"],
  ["sessionsByLabel", "ListSessions, by a prefix of one", "limited"],
  ["subAgentsOfOne", "ListSessions, of one parent", "limited"],
  ["sessionsByStatus", "ListSessions, by a status that none has", "limited"],
  ["deltaAssembly", "delta assembly", "limited"],
  ["plainWrite", "one row by plain SQL", "floor"],
  ["appending", "append of a turn", "limited"],
];

async function callTimes(servers: Readonly<Record<"small" | "large", Serving>>) {
  const found = [];
  for (const [task, what, kind] of measured) {
    progress(`scale: ${what}`);
    const of = (serving: Serving) => async (count: number) =>
      median(await serving.ask<number[]>({ do: task, rounds: count }));
    for (const serving of Object.values(servers)) await of(serving)(4);
    const times = await interleaved(rounds, {
      small: () => of(servers.small)(1),
      large: () => of(servers.large)(1),
    });
    found.push({ what, times, limited: kind === "limited" });
  }
  return found;
}

async function maintain(name: (what: string) => string, serving: Serving): Promise<Figure[]> {
  progress("scale: retention and erasure");
  const quiet = await serving.ask<Noticed>({ do: "quiet" });
  const beforeUs = String(oldUs + 1n);
  const retention = await serving.ask<Noticed>({ do: "retention", beforeUs });
  const erasure = await serving.ask<Noticed>({ do: "erasure" });
  const figures = (what: string, { stall, totalMs, appendP99Ms, count }: Noticed): Figure[] => [
    { figure: name(`${what}: longest stall`), value: stall.ms, unit: "ms", note: "waits for a CPU included" },
    {
      figure: name(`${what}: longest stall of its own`),
      value: stall.ownMs,
      unit: "ms",
      limit: longestStallMs,
      holds: stall.ownMs <= longestStallMs,
      note: "at most",
    },
    {
      figure: name(`${what}: longest stall at work on a CPU`),
      value: stall.workMs,
      unit: "ms",
      note: "the rest is a wait for the disk, or for a machine that others share",
    },
    { figure: name(`${what}: p99 of an append meanwhile`), value: appendP99Ms, unit: "ms" },
    { figure: name(`${what}: rows or turns that went`), value: count, unit: "in all" },
    { figure: name(`${what}: time`), value: totalMs / 1_000, unit: "s" },
  ];
  return [
    { figure: name("serving: longest stall"), value: quiet.stall.ms, unit: "ms", note: "the floor" },
    {
      figure: name("serving: longest stall of its own"),
      value: quiet.stall.ownMs,
      unit: "ms",
      note: "the floor",
    },
    { figure: name("serving: p99 of an append"), value: quiet.appendP99Ms, unit: "ms", note: "the floor" },
    ...figures("retention", retention),
    ...figures("erasure", erasure),
  ];
}

/** What a process holds as it assembles for all sessions, at each quarter. */
async function memory({ settings }: Filled, contexts: number): Promise<number[]> {
  const serving = await Serving.start({ ...settings, sets: settings.sets - settings.erasedSets });
  const held: number[] = [];
  const quarter = Math.ceil(contexts / 4);
  for (let done = 0; done < 4; done++) {
    progress(`scale: ${shown(done * quarter)} contexts are made`);
    await serving.ask({ do: "assembleAll", contexts: quarter });
    held.push(serving.rssMb);
  }
  await serving.end();
  return held;
}

function shown(count: number): string {
  return count.toLocaleString("en");
}
