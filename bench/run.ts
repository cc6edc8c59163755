import { execFileSync } from "node:child_process";
import { arch, cpus, platform } from "node:os";
import Table from "cli-table3";
import type { Figure } from "./figure.js";

/** `npm run bench <name>` prints a table; with `-- --json`, one line of JSON per figure and nothing else on standard output. */
const scenarios: Readonly<Record<string, () => Promise<{ run(): Promise<Figure[]> }>>> = {
  assembly: () => import("./assembly.js"),
  attack: () => import("./attack.js"),
  cache: () => import("./cache.js"),
  compactions: () => import("./compactions.js"),
  ledger: () => import("./ledger.js"),
  memory: () => import("./memory.js"),
  needed: () => import("./needed.js"),
  peers: () => import("./peers.js"),
  recall: () => import("./recall.js"),
  render: () => import("./render.js"),
  scale: () => import("./scale.js"),
  sources: () => import("./sources.js"),
  summaries: () => import("./summaries.js"),
  tokens: () => import("./tokens.js"),
};

const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith("--"));
const json = args.includes("--json");
const unknown = names.filter((name) => !(name in scenarios));
if (names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`there is no benchmark ${unknown.join(", ")}`);
  console.error(`usage: npm run bench <name> [-- --json]\nthere are: ${Object.keys(scenarios).join(", ")}`);
  process.exit(2);
}

let allHold = true;
for (const name of names) {
  const figures = await (await scenarios[name]!()).run();
  allHold &&= figures.every((figure) => figure.holds !== false);
  if (json) for (const figure of figures) console.log(JSON.stringify(line(figure)));
  else print(figures);
}
process.exitCode = allHold ? 0 : 1;

function line({ figure, value, limit, holds, unit, note }: Figure) {
  return {
    figure,
    value,
    limit: limit ?? null,
    holds: holds ?? null,
    ...(unit ? { unit } : {}),
    ...(note ? { note } : {}),
  };
}

function print(figures: readonly Figure[]): void {
  const table = new Table({
    head: ["figure", "value", "limit", "holds"],
    colAligns: ["left", "right", "right", "left"],
  });
  for (const { figure, value, unit, limit, holds, note } of figures) {
    const shown = `${value.toLocaleString("en", { maximumSignificantDigits: 4 })}${unit ? ` ${unit}` : "x"}`;
    const bound =
      limit === undefined ? (note ?? "") : `${note ?? "at most"} ${limit}${unit ? ` ${unit}` : "x"}`;
    table.push([figure, shown, bound, holds === undefined ? "" : holds ? "yes" : "NO"]);
  }
  console.log(table.toString());
  console.log(
    `commit ${commit()}, Node ${process.versions.node}, ${platform()} ${arch()}, ${cpus().length} cores; fixed seeds; medians`,
  );
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  } catch {
    return "unknown";
  }
}
