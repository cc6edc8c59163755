import { served, type Tally } from "./attack/caller.js";
import { Child } from "./attack/child.js";
import { attacks } from "./attack/kinds.js";
import type { Stall } from "./attack/stalls.js";
import { type Outcome, underAttack, type Waits } from "./attack/under-attack.js";
import type { Figure } from "./figure.js";
import { median, progress } from "./measure.js";

/**
 * What others notice while somebody attacks the server. Each attack meets a server of its own; a caller in another process probes it before and during the
 * attack, and beside it an echo server that nobody attacks: what that one is late by is the machine's. `-- --only=<word>` runs the attacks with that word in their name.
 */
export async function run(): Promise<Figure[]> {
  const only = process.argv.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";
  const names = Object.keys(attacks).filter((name) => name.includes(only));
  const echo = new Child("echo");
  try {
    const { address } = (await echo.next<{ address: string }>(60_000))!;
    const outcomes = new Map<string, Outcome>();
    for (const name of names) {
      progress(`attack: ${name}`);
      const outcome = await underAttack(name, echo, address);
      if (!outcome) continue;
      outcomes.set(name, outcome);
      // A run takes many minutes, and says something even where it is cut short.
      progress(`attack: ${name}: ${shortly(outcome)}`);
    }
    return figures(names, outcomes);
  } finally {
    await echo.kill();
  }
}

function shortly({ stall, attacked, largestMb }: Outcome): string {
  const wait = rounded(Math.max(0, ...attacked.waits.service));
  return `longest stall ${rounded(stall.ms)} ms (own ${rounded(stall.ownMs)}, at work ${rounded(stall.workMs)}), longest wait of a probe ${wait} ms, ${rounded(largestMb)} MB`;
}

function figures(names: readonly string[], outcomes: ReadonlyMap<string, Outcome>): Figure[] {
  const all = [...outcomes.values()];
  const quiet = (which: keyof Waits) => median(all.map(({ quiet }) => p99(quiet.waits[which])));
  const atRest: readonly Figure[] =
    all.length === 0
      ? []
      : [
          { figure: "attack: quiet p99 of a probe", value: quiet("service"), unit: "ms" },
          {
            figure: "attack: quiet p99 of the echo server",
            value: quiet("echo"),
            unit: "ms",
            note: "the floor",
          },
          { figure: "attack: RSS at rest", value: median(all.map(({ restingMb }) => restingMb)), unit: "MB" },
        ];
  const lost = all.filter(({ recoveredMs }) => recoveredMs === undefined);
  return [
    ...atRest,
    ...[...outcomes].flatMap(([name, outcome]) => figuresOf(name, outcome)),
    atMostOf("attack: longest stall of the event loop, all attacks", "ms", longest(all, "ms"), 100),
    {
      figure: "attack: longest of them less its wait for a CPU",
      value: longest(all, "ownMs"),
      unit: "ms",
      note: "what is left when others had the CPUs",
    },
    atMostOf("attack: servers that were lost", "servers", lost.length, 0),
    atMostOf("attack: attacks that could not be prepared", "attacks", names.length - all.length, 0),
  ];
}

function figuresOf(name: string, outcome: Outcome): Figure[] {
  const { quiet, attacked, stall, echoStall, tally, largestMb, recoveredMs } = outcome;
  const slower = (which: keyof Waits) => p99(attacked.waits[which]) / p99(quiet.waits[which]);
  const title = (what: string) => `attack: ${name}: ${what}`;
  return [
    {
      figure: title("p99 of a probe / quiet"),
      value: slower("service"),
      note: `the echo server: ${rounded(slower("echo"))}x`,
    },
    atMostOf(title("longest wait of a probe"), "ms", Math.max(0, ...attacked.waits.service), 1_000),
    atMostOf(title("probes that were not served"), "calls", unserved(attacked.ends), 0),
    atMostOf(title("longest stall of the event loop"), "ms", stall.ms, attacks[name]!.stallLimitMs ?? 100),
    {
      figure: title("longest stall of the echo server"),
      value: echoStall.ms,
      unit: "ms",
      note: `the floor; the server's less its wait for a CPU: ${rounded(stall.ownMs)} ms, and less its waits for the disk: ${rounded(stall.workMs)} ms`,
    },
    atMostOf(title("largest RSS"), "MB", largestMb, 1_024),
    recoveredMs === undefined
      ? { figure: title("until it is quick again"), value: 0, unit: "ms", note: "never", holds: false }
      : atMostOf(title("until it is quick again"), "ms", recoveredMs, 1_000),
    atMostOf(title("calls that failed by the server's fault"), "calls", faults(tally), 0),
    {
      figure: title("calls that were served"),
      value: tally[served] ?? 0,
      unit: "calls",
      note: others(tally),
    },
  ];
}

function atMostOf(figure: string, unit: string, value: number, limit: number): Figure {
  return { figure, value, unit, limit, holds: value <= limit, note: "at most" };
}

function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
}

function longest(outcomes: readonly Outcome[], which: keyof Stall): number {
  return Math.max(0, ...outcomes.map(({ stall }) => stall[which]));
}

function unserved(tally: Tally): number {
  return Object.entries(tally).reduce((sum, [end, count]) => sum + (end === served ? 0 : count), 0);
}

/** INTERNAL, and codes that grpc-js makes up where a server says nothing. A refusal with a reason is none. */
function faults(tally: Tally): number {
  const isFault = (end: string) => /^(INTERNAL|UNKNOWN|UNAVAILABLE$)/.test(end);
  return Object.entries(tally).reduce((sum, [end, count]) => sum + (isFault(end) ? count : 0), 0);
}

function others(tally: Tally): string {
  const rest = Object.entries(tally).filter(([end, count]) => end !== served && count > 0);
  return rest.map(([end, count]) => `${count.toLocaleString("en")} ${end}`).join(", ");
}

function rounded(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
