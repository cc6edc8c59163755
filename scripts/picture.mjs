// Draws docs/context.svg, how a context is made, from scripts/picture/stages.mjs. Fails where that is not what assemble.ts does.
// `node scripts/picture.mjs <folder>` writes to another folder than the project's.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { drawStages } from "./picture/draw-stages.mjs";
import { asides, stages } from "./picture/stages.mjs";

const root = resolve(import.meta.dirname, "..");
const assembly = join(root, "src", "assembly");
const steps = stages.flatMap((stage) => stage.steps ?? [stage]);
const drawn = steps.flatMap(({ calls, events = [] }) => [
  calls,
  ...events.map(({ kind }) => `yield ${kind}`),
]);

const events = steps.flatMap(({ events = [] }) => events.map(({ kind, wire = kind }) => wire));
const sent = eventsOf(readFileSync(join(root, "proto", "quire", "v1", "assembly_service.proto"), "utf8"));

const problems = steps
  .filter(({ file }) => !existsSync(join(assembly, file)))
  .map(({ file }) => `there is no src/assembly/${file}`);
const actual = callsOf(readFileSync(join(assembly, "assemble.ts"), "utf8"));
if (drawn.join() !== actual.join())
  problems.push(`the picture has: ${drawn.join(", ")}`, `assemble.ts has: ${actual.join(", ")}`);
if (events.join() !== sent.join())
  problems.push(`the picture sends: ${events.join(", ")}`, `AssembleResponse has: ${sent.join(", ")}`);
if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  console.error("scripts/picture/stages.mjs is not what an assembly does");
  process.exit(1);
}
const target = join(resolve(process.argv[2] ?? root), "docs", "context.svg");
mkdirSync(dirname(target), { recursive: true });
writeFileSync(target, drawStages(stages));

/** The stages that assemble.ts calls and the events that it yields, in order. */
function callsOf(text) {
  const imported = [...text.matchAll(/^import \{([^}]*)\} from "\.\//gm)].flatMap(([, names]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && !name.startsWith("type ")),
  );
  const called = new Set(imported.filter((name) => !asides.includes(name)));
  const body = text.slice(text.indexOf("export async function* assemble("));
  return [...body.matchAll(/yield \{ kind: "(\w+)"|\b(\w+)\(/g)].flatMap(([, event, name]) => {
    if (event) return [`yield ${event}`];
    return called.has(name) ? [name] : [];
  });
}

/** The events of the stream, in the order in which they come. */
function eventsOf(proto) {
  const [, fields] = /message AssembleResponse \{.*?oneof event \{(.*?)\n {2}\}/s.exec(proto);
  return [...fields.matchAll(/^ *\w+ (\w+) = \d+/gm)].map(([, name]) => name);
}
