// Which room may import which. Each ban has a note, which is printed when it is broken.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const source = resolve(import.meta.dirname, "..", "src");
const rooms = [
  "domain",
  "config",
  "telemetry",
  "errors",
  "offload",
  "storage",
  "tokens",
  "ledger",
  "capsule",
  "workspace",
  "budget",
  "compaction",
  "rendering",
  "summarizers",
  "assembly",
  "server",
  "cli",
  "contract",
];
const others = (...allowed) => rooms.filter((room) => !allowed.includes(room));

/** from: a room; to: rooms or packages it may not import; except: files of it that may. */
const bans = [
  { from: "domain", to: others("domain"), note: "the vocabulary stands alone" },
  { from: "config", to: others("config"), note: "settings are read before anything else exists" },
  { from: "telemetry", to: others("telemetry"), note: "everything may log, so logging needs nothing" },
  { from: "errors", to: others("errors"), note: "everything may throw, so errors need nothing" },
  {
    from: "offload",
    to: others("offload", "config", "domain"),
    note: "a thread runs what it is told, by name",
  },
  {
    from: "tokens",
    to: others("tokens", "offload"),
    note: "counting is pure; large texts go to a worker thread",
  },
  {
    from: "storage",
    to: ["ledger", "capsule", "workspace", "server", "cli", "contract", "tokens"],
    note: "storage serves the rooms above it",
  },
  { from: "ledger", to: ["server", "cli"], note: "commands know no transport" },
  {
    from: "ledger",
    to: ["contract"],
    except: ["ledger/message-codec.ts", "ledger/stream-history.ts"],
    note: "only the code that keeps messages in wire form knows the wire",
  },
  { from: "ledger", to: ["capsule", "workspace"], note: "rooms that keep data do not know each other" },
  {
    from: "capsule",
    to: others("capsule", "storage", "domain", "errors", "config", "contract"),
    note: "commands know no transport, and rooms that keep data do not know each other",
  },
  {
    from: "capsule",
    to: ["contract"],
    except: ["capsule/capsule-codec.ts"],
    note: "only the codec knows the wire",
  },
  {
    from: "workspace",
    to: others("workspace", "storage", "domain", "errors", "config", "tokens", "contract"),
    note: "commands know no transport, and rooms that keep data do not know each other",
  },
  {
    from: "workspace",
    to: ["contract"],
    except: ["workspace/workspace-codec.ts"],
    note: "only the codec knows the wire",
  },
  { from: "budget", to: others("budget"), note: "arithmetic: everything it needs is given" },
  {
    from: "compaction",
    to: others("compaction", "domain"),
    note: "where to cut and what to fold is pure: counters and summarizers are given",
  },
  {
    from: "rendering",
    to: others("rendering", "domain", "errors"),
    note: "the same context gives the same bytes: nothing is read, asked or measured",
  },
  {
    from: "summarizers",
    to: others("summarizers", "compaction", "domain", "errors", "config"),
    note: "models are asked for a text; what becomes of it is decided elsewhere",
  },
  { from: "assembly", to: ["server", "cli"], note: "the engine is the same without a network" },
  {
    from: "storage",
    to: ["budget", "compaction", "rendering", "summarizers", "assembly"],
    note: "storage serves the rooms above it",
  },
  {
    from: "ledger",
    to: ["budget", "compaction", "rendering", "summarizers", "assembly"],
    note: "the ledger does not know what is made of it",
  },
  { from: "server", to: ["cli"], note: "the server does not know who started it" },
  {
    from: "cli",
    to: [
      "ledger",
      "capsule",
      "workspace",
      "tokens",
      "budget",
      "compaction",
      "rendering",
      "summarizers",
      "assembly",
    ],
    note: "commands use the service as every client does",
  },
  { from: "contract", to: others("contract"), note: "generated code imports nothing of ours" },
];

/** Packages that one room alone may import. */
const keepers = [
  {
    package: /^(@prisma\/|pg$|@photostructure\/sqlite|node:sqlite)/,
    room: "storage",
    note: "one room talks to databases",
  },
  { package: /^@grpc\/(reflection)|^grpc-health-check/, room: "server", note: "one room serves" },
  { package: /^piscina/, room: "offload", note: "one room starts threads" },
  { package: /^js-tiktoken/, room: "tokens", note: "one room counts" },
  { package: /^(openai|@anthropic-ai\/sdk)(\/|$)/, room: "summarizers", note: "one room asks models" },
  { package: /^commander$|^cli-/, room: "cli", note: "one room talks to people" },
];

const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => join(entry.parentPath, entry.name));
const roomOf = (file) => {
  const path = relative(source, file);
  return path.includes("/") ? path.split("/")[0] : "";
};
const imports = new Map();
const problems = [];

for (const file of files) {
  const name = relative(source, file);
  const text = readFileSync(file, "utf8");
  const found = [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\b[^;"']*?from\s+["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/g,
    ),
  ];
  const targets = [];
  for (const match of found) {
    const specifier = match[1] ?? match[2];
    if (!specifier.startsWith(".")) {
      const keeper = keepers.find((entry) => entry.package.test(specifier) && roomOf(file) !== entry.room);
      const generated = name.includes("/gen/");
      if (keeper && !generated)
        problems.push(`${name} imports ${specifier}: ${keeper.note} (${keeper.room})`);
      continue;
    }
    const target = resolve(dirname(file), specifier.replace(/\.js$/, ".ts"));
    // Types vanish: only what remains at run time can be a cycle.
    if (!/(import|export)\s+type\b/.test(match[0])) targets.push(target);
    const ban = bans.find((entry) => entry.from === roomOf(file) && entry.to.includes(roomOf(target)));
    if (ban && !ban.except?.includes(name))
      problems.push(`${name} imports ${relative(source, target)}: ${ban.note}`);
  }
  imports.set(file, targets);
  const readsEnvironment = /process\.env\b/.test(text) && roomOf(file) !== "config";
  if (readsEnvironment && !name.includes("/gen/"))
    problems.push(`${name} reads process.env: config is its sole reader`);
}

const done = new Set();
function visit(file, path) {
  const at = path.indexOf(file);
  if (at >= 0) {
    problems.push(
      `a cycle: ${[...path.slice(at), file].map((entry) => relative(source, entry)).join(" -> ")}`,
    );
    return;
  }
  if (done.has(file) || file.includes("/gen/")) return;
  for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
  done.add(file);
}
for (const file of files) visit(file, []);

for (const problem of problems) console.error(problem);
console.log(
  problems.length === 0 ? `${files.length} files, all in their rooms` : `${problems.length} problems`,
);
process.exit(problems.length === 0 ? 0 : 1);
