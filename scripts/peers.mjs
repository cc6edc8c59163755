// Writes docs/peers.md and docs/peers.svg from what `npm run bench peers -- --json` said: node scripts/peers.mjs <file> [--busy]
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { arch, cpus, platform } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const [file] = process.argv.slice(2);
if (!file) throw new Error("usage: node scripts/peers.mjs <file with the figures as JSON lines> [--busy]");
const beside = process.argv.includes("--busy")
  ? "; other work ran beside it, so small differences mean nothing"
  : "";

/** @typedef {{ engine: string, turns: number, budget: number, ms: number, note: string }} Row */

/** @type {Row[]} */
const rows = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line.startsWith("{"))
  .map((line) => JSON.parse(line))
  .filter(({ figure }) => figure.startsWith("peers: "))
  .map(({ figure, value, note }) => {
    const [, engine, turns, budget] = /^peers: (.*), ([\d,]+) turns at (\d+)k$/.exec(figure) ?? [];
    return {
      engine: engine ?? "",
      turns: Number(turns?.replaceAll(",", "")),
      budget: Number(budget),
      ms: value,
      note: note ?? "",
    };
  });
const engines = [...new Set(rows.map(({ engine }) => engine))];
const places = [...new Set(rows.map(({ turns, budget }) => `${turns} ${budget}`))].map((place) => {
  const [turns, budget] = place.split(" ").map(Number);
  return { turns: turns ?? 0, budget: budget ?? 0 };
});
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const machine = `commit ${commit}, Node ${process.versions.node}, ${platform()} ${arch()}, ${cpus().length} cores (${cpus()[0]?.model.trim() ?? "unknown"}), seed 1`;

/** @param {string} engine @param {{ turns: number, budget: number }} place */
const found = (engine, place) =>
  rows.find((row) => row.engine === engine && row.turns === place.turns && row.budget === place.budget);

/** @param {Row | undefined} row */
function shown(row) {
  if (!row) return "-";
  if (/^(not done|failed)/.test(row.note)) return row.note;
  const ms = row.ms.toLocaleString("en", { maximumSignificantDigits: 3 });
  return `${ms} ms; ${row.note.split(";")[0]}`;
}

const head = [
  "engine",
  ...places.map(({ turns, budget }) => `${turns.toLocaleString("en")} turns, ${budget}k`),
];
const table = [
  `| ${head.join(" | ")} |`,
  `| ${head.map(() => "---").join(" | ")} |`,
  ...engines.map(
    (engine) => `| ${[engine, ...places.map((place) => shown(found(engine, place)))].join(" | ")} |`,
  ),
].join("\n");

writeFileSync(
  join(root, "docs", "peers.md"),
  `# Beside other engines

The same conversation through Quire and through other engines from npm, as each package's own users would call it: CPU for one
assembly (median of repeated ones; the first, for which Quire summarizes what does not fit, is not among them), and what is wrong with what comes out. \`npm run bench peers\` measures it, \`node scripts/peers.mjs\`
writes this page from what \`-- --json\` said. Measured on ${machine}${beside}.

![CPU for one assembly, by engine, length of the conversation and budget](peers.svg)

${table}

**The conversation**: a system message, turns of a question, a call, its result and an answer (some 400 tokens each), then a question. It is
made from a seed. Engines that take a token counter get counts that were made before; Quire's are in its database, which is filled before. The others
choose among messages that they hold in memory; Quire's figure includes reading the database, the whole context, and the receipt that it writes.

**Faults**: no system message, or not the question that is to be answered; results without their call, calls without their result; more
tokens than the budget; holes in the middle of the conversation; and what Anthropic's API would refuse if the messages were sent one by one as
they are. Quire sends a summary for what is left out; the others leave it out, pi without the summary that it would ask a model for. The AI SDK's
\`pruneMessages\` knows no budget.
`,
);

const [width, rowHeight, left, top] = [860, 16, 190, 46];
const height = top + engines.length * (places.length * rowHeight + 14) + 40;
const most = Math.max(...rows.map(({ ms }) => ms), 1);
const least = Math.min(...rows.filter(({ ms }) => ms > 0).map(({ ms }) => ms), 0.1);
const scale = (/** @type {number} */ ms) =>
  ((width - left - 210) * (Math.log10(Math.max(ms, least)) - Math.log10(least))) /
    (Math.log10(most) - Math.log10(least)) +
  4;
const safe = (/** @type {string} */ text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const parts = [];
let y = top;
for (const engine of engines) {
  parts.push(`<text x="8" y="${y + 12}" font-weight="bold">${safe(engine)}</text>`);
  for (const place of places) {
    const row = found(engine, place);
    const isFine = row?.note.startsWith("no faults");
    const isDone = row && !/^(not done|failed)/.test(row.note);
    const label = `${place.turns.toLocaleString("en")} / ${place.budget}k`;
    parts.push(`<text x="${left - 8}" y="${y + 12}" text-anchor="end" fill="#666">${label}</text>`);
    if (row) {
      const bar = row.ms > 0 ? scale(row.ms) : 4;
      const colour = isFine ? "#2a7f62" : isDone ? "#c9822b" : "#b3b3b3";
      const words = isDone
        ? `${row.ms.toLocaleString("en", { maximumSignificantDigits: 3 })} ms${isFine ? "" : `, ${row.note.split(";")[0]}`}`
        : row.note;
      parts.push(`<rect x="${left}" y="${y + 2}" width="${bar.toFixed(1)}" height="12" fill="${colour}"/>`);
      parts.push(`<text x="${(left + bar + 6).toFixed(1)}" y="${y + 12}">${safe(words.slice(0, 60))}</text>`);
    }
    y += rowHeight;
  }
  y += 14;
}
writeFileSync(
  join(root, "docs", "peers.svg"),
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">
<title>CPU for one assembly, by engine, turns and budget</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="8" y="18" font-size="14">CPU for one assembly, by turns and budget (logarithmic)</text>
<text x="8" y="34" fill="#666">green: no faults; orange: with faults; grey: not done in time. ${safe(machine)}</text>
${parts.join("\n")}
</svg>
`,
);
