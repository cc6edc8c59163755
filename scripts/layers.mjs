// Which room may import which, types included. What is not allowed is forbidden, and the room's note says why.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const source = resolve(import.meta.dirname, "..", "src");

/**
 * A room is a folder of src; a folder inside it that has a line of its own is a room, too. `may`: the rooms that it imports beside itself.
 * `except`: what single files of it import beyond that.
 */
const rooms = {
  domain: { may: [], note: "the vocabulary stands alone" },
  config: { may: [], note: "settings are read before anything else exists" },
  telemetry: { may: [], note: "everything may log, so logging needs nothing" },
  errors: { may: [], note: "everything may throw, so errors need nothing" },
  contract: { may: ["config", "errors"], note: "the contract does not know who serves it" },
  offload: { may: ["config", "domain"], note: "a thread runs what it is told, by name" },
  tokens: { may: ["domain", "offload"], note: "counting is pure; large texts go to a worker thread" },
  storage: { may: ["config", "domain", "errors", "offload"], note: "storage serves the rooms above it" },
  budget: { may: ["domain"], note: "arithmetic: everything it needs is given" },
  thread: {
    may: ["domain", "errors", "tokens"],
    except: { "message-codec.ts": ["contract"] },
    note: "the rules of a thread are pure, over stored bytes: nothing is read, asked or measured",
  },
  models: {
    may: ["domain", "errors", "storage", "tokens"],
    except: {
      "cache-kinds.ts": ["contract"],
      "list-models.ts": ["contract"],
      "model-words.ts": ["contract"],
      "count-texts.ts": ["contract"],
    },
    note: "what is known of models does not depend on what is sent to them",
  },
  ledger: {
    may: ["domain", "errors", "storage", "thread", "tokens"],
    except: { "stream-history.ts": ["contract"] },
    note: "the ledger knows no transport, no other room that keeps data, and not what is made of it",
  },
  capsule: {
    may: ["config", "domain", "errors", "storage"],
    except: { "capsule-codec.ts": ["contract"] },
    note: "rooms that keep data know no transport and not each other; only the codec knows the wire",
  },
  workspace: {
    may: ["config", "domain", "errors", "storage", "tokens"],
    except: { "workspace-codec.ts": ["contract"] },
    note: "rooms that keep data know no transport and not each other; only the codec knows the wire",
  },
  memory: {
    may: ["domain", "errors", "offload", "storage", "tokens"],
    except: { "memory-codec.ts": ["contract"] },
    note: "rooms that keep data know no transport and not each other; only the codec knows the wire",
  },
  recall: {
    may: ["config", "domain", "endpoints", "errors", "offload", "sources", "storage", "thread", "tokens"],
    note: "what is searched is derived from what is stored: recall knows no room that wrote it",
  },
  sources: {
    may: ["domain", "errors", "storage", "thread", "tokens"],
    except: {
      "source-codec.ts": ["contract"],
      "remote/plug-in.ts": ["contract"],
      "remote/plug-in-source.ts": ["contract"],
    },
    note: "rooms that keep data know no transport and not each other; only the codec and plug-ins know the wire",
  },
  rendering: {
    may: ["domain", "errors"],
    note: "the same context gives the same bytes: nothing is read, asked or measured",
  },
  "compaction/plan": {
    may: ["domain", "models", "thread", "tokens"],
    note: "where to cut is pure: turns and counts are given",
  },
  "compaction/extractive": {
    may: ["domain", "compaction/plan", "compaction/summarizers"],
    note: "what an embedded summary says is pure: turns and a counter are given",
  },
  endpoints: {
    may: ["domain"],
    note: "how a model is called does not depend on what it is asked",
  },
  "compaction/summarizers": {
    may: ["config", "domain", "endpoints", "errors", "compaction/plan"],
    note: "models are asked for a text; what becomes of it is decided elsewhere",
  },
  receipts: {
    may: ["contract", "domain", "errors", "ledger", "models", "storage", "thread", "tokens", "workspace"],
    note: "a context is told again from what was stored, without the rooms that made it",
  },
  "compaction/jobs": {
    may: [
      "capsule",
      "domain",
      "errors",
      "ledger",
      "models",
      "offload",
      "receipts",
      "storage",
      "thread",
      "tokens",
      "workspace",
      "compaction/plan",
      "compaction/extractive",
      "compaction/summarizers",
    ],
    except: {
      "plan-seal.ts": ["contract"],
      "submit-compaction.ts": ["contract"],
      "wanted.ts": ["contract"],
    },
    note: "compactions are made for assemblies, and do not know them",
  },
  assembly: {
    may: [
      "budget",
      "capsule",
      "compaction/jobs",
      "compaction/plan",
      "compaction/summarizers",
      "contract",
      "domain",
      "errors",
      "ledger",
      "memory",
      "models",
      "offload",
      "recall",
      "receipts",
      "rendering",
      "sources",
      "storage",
      "thread",
      "tokens",
      "workspace",
    ],
    note: "the engine is the same without a network",
  },
  transcripts: {
    may: ["contract", "domain", "errors"],
    note: "a transcript is read and written without a server",
  },
  server: {
    may: [
      "assembly",
      "capsule",
      "compaction/jobs",
      "config",
      "contract",
      "domain",
      "errors",
      "ledger",
      "memory",
      "models",
      "offload",
      "recall",
      "receipts",
      "rendering",
      "sources",
      "storage",
      "telemetry",
      "thread",
      "workspace",
      "",
    ],
    note: "the server does not know who started it",
  },
  "in-process": {
    may: ["assembly", "contract", "domain", "errors", "server"],
    note: "the same calls, without a network",
  },
  cli: {
    may: ["config", "contract", "domain", "errors", "server", "storage", "telemetry", "transcripts", ""],
    except: { "commands/validate.ts": ["rendering"], "commands/reindex.ts": ["recall"] },
    note: "commands use the service as every client does; what is pure needs none",
  },
  "": { may: "all", note: "the engine, the server and the in-process API put everything together" },
};

/** Packages that one room alone may import. */
const keepers = [
  {
    package: /^(@prisma\/|pg$|@photostructure\/sqlite|node:sqlite)/,
    room: "storage",
    note: "one room talks to databases",
  },
  { package: /^@grpc\/(reflection)|^grpc-health-check/, room: "server", note: "one room serves" },
  { package: /^piscina/, room: "offload", note: "one room starts threads" },
  { package: /^loro-crdt/, room: "memory", note: "one room keeps documents" },
  { package: /^(js-tiktoken|image-size)/, room: "tokens", note: "one room counts" },
  {
    package: /^(openai|@anthropic-ai\/sdk)(\/|$)/,
    room: ["endpoints", "compaction/summarizers"],
    note: "few rooms ask models",
  },
  { package: /^commander$|^cli-/, room: "cli", note: "one room talks to people" },
];

/** Rooms that read no clock, make no random numbers and touch neither files nor network: these are given. */
const pure = ["domain", "budget", "thread", "rendering", "compaction/plan", "compaction/extractive"];
const impure =
  /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|randomUUID|randomBytes|setTimeout|setInterval|fetch\()|from "node:(fs|net|http|https|http2|os|child_process|worker_threads)/;
/** What hands the clock to the others, and what gives way to the event loop. */
const sources = ["domain/clock.ts", "domain/pausing.ts"];

const names = Object.keys(rooms).sort((a, b) => b.length - a.length);
const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => relative(source, join(entry.parentPath, entry.name)));
const problems = [];

function roomOf(file) {
  if (!file.includes("/")) return "";
  return names.find((name) => name !== "" && file.startsWith(`${name}/`));
}

/** Every import and re-export of a file, types included. */
function importsOf(text) {
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s+["']([^"']+)["']|(?:^|\n)\s*import\s+["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g,
  );
  return [...found].map((match) => match[1] ?? match[2] ?? match[3]);
}

const graph = new Map();
for (const file of files) {
  const room = roomOf(file);
  if (room === undefined) {
    problems.push(`${file} is in no room: scripts/layers.mjs does not know its folder`);
    continue;
  }
  const text = readFileSync(join(source, file), "utf8");
  const isGenerated = file.includes("/gen/");
  const { may, except = {}, note } = rooms[room];
  const extra = except[file.slice(room.length + 1)] ?? [];
  const targets = [];
  for (const specifier of importsOf(text)) {
    if (!specifier.startsWith(".")) {
      const keeper = keepers.find(
        (entry) => entry.package.test(specifier) && ![entry.room].flat().includes(room),
      );
      if (keeper && !isGenerated)
        problems.push(`${file} imports ${specifier}: ${keeper.note} (${keeper.room})`);
      continue;
    }
    const target = relative(source, resolve(source, dirname(file), specifier.replace(/\.js$/, ".ts")));
    targets.push(target);
    const other = roomOf(target);
    const isAllowed = may === "all" || other === room || may.includes(other) || extra.includes(other);
    if (!isAllowed) problems.push(`${file} imports ${target}: ${note}`);
  }
  graph.set(file, targets);
  if (isGenerated) continue;
  if (/process\.env\b/.test(text) && room !== "config")
    problems.push(`${file} reads process.env: config is its sole reader`);
  const reached = pure.includes(room) && !sources.includes(file) && impure.exec(text);
  if (reached) problems.push(`${file} uses ${reached[0]}: ${rooms[room].note}`);
}
for (const [room, { except = {} }] of Object.entries(rooms)) {
  for (const file of Object.keys(except))
    if (!graph.has(`${room}/${file}`)) problems.push(`${room}/${file} has an exception and does not exist`);
}

const done = new Set();
function visit(file, path) {
  const at = path.indexOf(file);
  if (at >= 0) {
    problems.push(`a cycle: ${[...path.slice(at), file].join(" -> ")}`);
    return;
  }
  if (done.has(file) || file.includes("/gen/")) return;
  for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
  done.add(file);
}
for (const file of files) visit(file, []);

for (const problem of problems) console.error(problem);
console.log(
  problems.length === 0
    ? `${files.length} files, all in their rooms; no cycles, types counted`
    : `${problems.length} problems`,
);
process.exit(problems.length === 0 ? 0 : 1);
