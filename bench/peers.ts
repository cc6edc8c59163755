import { fork } from "node:child_process";
import type { Figure } from "./figure.js";
import { progress } from "./measure.js";
import { installPeers, peerVersion } from "./peer-package.js";
import type { Measured } from "./peers/child.js";
import { engines } from "./peers/engines.js";

const lengths = [100, 1_000, 10_000];
const budgets = [32_000, 128_000] as const;
const prepareMs = 1_200_000;

/**
 * The same conversation through Quire and through other engines from npm: CPU for each assembly, and what is wrong with what comes
 * out. Each in a process of its own. `-- --seconds=<n>` is how long an engine may take for one assembly (60), `-- --only=<word>` takes engines by name,
 * `-- --turns=100,1000` other lengths.
 */
export async function run(): Promise<Figure[]> {
  installPeers();
  const seconds = Number(argument("seconds") ?? 60);
  const only = argument("only") ?? "";
  const figures: Figure[] = [];
  for (const name of ["Quire", ...Object.keys(engines)].filter((one) => one.includes(only)))
    for (const turns of argument("turns")?.split(",").map(Number) ?? lengths)
      for (const budget of budgets) {
        progress(`peers: ${name}, ${turns} turns at ${budget / 1_000}k`);
        figures.push(figureOf(name, turns, budget, await measure(name, turns, budget, seconds), seconds));
      }
  return figures;
}

function argument(name: string): string | undefined {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3);
}

function figureOf(
  name: string,
  turns: number,
  budget: number,
  measured: Measured | string | undefined,
  seconds: number,
): Figure {
  const version = name === "Quire" ? "" : ` ${peerVersion(engines[name]!.package)}`;
  const figure = `peers: ${name}${version}, ${turns.toLocaleString("en")} turns at ${budget / 1_000}k`;
  const isOurs = name === "Quire";
  if (measured === undefined)
    return {
      figure,
      value: seconds * 1_000,
      unit: "ms",
      note: `not done within ${seconds} s`,
      ...(isOurs ? { holds: false } : {}),
    };
  if (typeof measured === "string")
    return { figure, value: 0, unit: "ms", note: `failed: ${measured}`, ...(isOurs ? { holds: false } : {}) };
  const { cpuMs, keptTokens, keptMessages, faults } = measured;
  const kept = `${keptMessages.toLocaleString("en")} messages, ${Math.round(keptTokens / 100) / 10}k tokens`;
  const note = `${faults.length === 0 ? "no faults" : faults.join(", ")}; ${kept}`;
  return { figure, value: cpuMs, unit: "ms", note, ...(isOurs ? { holds: faults.length === 0 } : {}) };
}

/** Undefined where not even one assembly was done in time; a text where the engine failed. */
function measure(
  name: string,
  turns: number,
  budget: number,
  seconds: number,
): Promise<Measured | string | undefined> {
  const file = new URL("./peers/child.js", import.meta.url);
  const child = fork(file, [name, String(turns), String(budget)], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let last: Measured | undefined;
  let errors = "";
  child.stderr!.on("data", (chunk) => {
    errors = `${errors}${chunk}`.slice(-4_000);
  });
  let timer = setTimeout(() => child.kill("SIGKILL"), prepareMs);
  child.on("message", (message) => {
    clearTimeout(timer);
    timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1_000);
    if (message !== "go") last = message as Measured;
  });
  return new Promise((resolve) => {
    child.on("exit", (code) => {
      clearTimeout(timer);
      if (last || code === null) resolve(last);
      else resolve(/^\w*Error.*$/m.exec(errors)?.[0] ?? `exit code ${code}`);
    });
  });
}
