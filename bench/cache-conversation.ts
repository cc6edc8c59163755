import { seeded } from "./measure.js";

/** A tool that the model calls, and what it gives. */
export interface SpokenCall {
  readonly callId: string;
  readonly name: string;
  readonly argumentsJson: string;
  readonly result: string;
}

/** What happens in one turn: a question, rounds of calls that the model makes side by side, and an answer. */
export interface SpokenTurn {
  readonly question: string;
  readonly rounds: readonly { readonly said: string; readonly calls: readonly SpokenCall[] }[];
  readonly answer: string;
  /** How long the user thought before asking. */
  readonly pauseMs: number;
}

const toolEvery = 3;
/** Now and then the model works on its own for a while. */
const loopEvery = 50;
const loopRounds = 6;
const coldEvery = 90;
const coldPauseMs = 25 * 60_000;

const people = ["Ada", "Bruno", "Chen", "Dalia", "Emil", "Farah", "Goran", "Hana"];
const places = ["parser", "scheduler", "billing", "import", "gateway", "mailer", "archive", "search"];
const things = [
  "timeout",
  "retry",
  "index",
  "migration",
  "token",
  "invoice",
  "queue",
  "schema",
  "lock",
  "batch",
];
const states = [
  "fails",
  "is slow",
  "passes",
  "was renamed",
  "blocks the release",
  "needs a review",
  "is done",
];
const tails = [
  "before the next deploy",
  "since the last migration",
  "when two clients write at once",
  "on the staging cluster only",
  "because the cache key leaves out the region",
  "although the unit tests are green",
];
export const toolNames = ["search_code", "read_file", "run_tests", "query_metrics"] as const;

/** Prose as engineers write it: names, files, numbers; no sentence twice but by chance. */
export function sentences(random: () => number, words: number): string {
  const pick = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)]!;
  const number = (below: number) => Math.floor(random() * below);
  const text: string[] = [];
  for (let count = 0; count < words; count += text.at(-1)!.split(" ").length) {
    const place = pick(places);
    text.push(
      pick([
        () =>
          `The ${pick(things)} in src/${place}/${pick(things)}-${number(90)}.ts ${pick(states)} ${pick(tails)}.`,
        () =>
          `${pick(people)} measured ${number(900)} ms for the ${pick(things)} of ${place}, ${number(40)} % more.`,
        () =>
          `We decided to keep the ${pick(things)} at ${number(500)} and to move the ${pick(things)} to ${place}.`,
        () => `Ticket ${place.toUpperCase()}-${number(9_000)} says that the ${pick(things)} ${pick(states)}.`,
        () =>
          `Please check with ${pick(people)} whether the ${pick(things)} of ${place} ${pick(states)} ${pick(tails)}.`,
      ])(),
    );
  }
  return text.join(" ");
}

/** The same turn for the same number, whatever was asked for before. */
export function spokenTurn(turn: number): SpokenTurn {
  const random = seeded(turn * 7_919 + 17);
  for (let at = 0; at < 8; at++) random();
  const between = (from: number, to: number) => from + Math.floor(random() * (to - from));
  const roundCount = turn % loopEvery === 0 ? loopRounds : turn % toolEvery === 0 ? 1 : 0;
  const call = (round: number, at: number): SpokenCall => ({
    callId: `toolu_${turn}_${round}_${at}`,
    name: toolNames[between(0, toolNames.length)]!,
    argumentsJson: JSON.stringify({ query: sentences(random, 6), limit: between(1, 50) }),
    result: JSON.stringify({ found: between(0, 20), text: sentences(random, between(30, 80)) }),
  });
  return {
    question: sentences(random, between(25, 70)),
    rounds: Array.from({ length: roundCount }, (_, round) => ({
      said: sentences(random, 8),
      calls: Array.from({ length: between(1, 3) }, (_, at) => call(round, at)),
    })),
    answer: sentences(random, between(60, 150)),
    pauseMs: turn % coldEvery === 0 ? coldPauseMs : between(20_000, 60_000),
  };
}

const rules = Array.from(
  { length: 60 },
  (_, line) => `- Rule ${line + 1}: ${sentences(seeded(line + 100), 14)}`,
);

/** A workspace's rules of about 1,500 tokens, of which one line is another with each edition. */
export function agentsDocument(edition: number): string {
  const edited = edition === 0 ? -1 : (edition * 17) % rules.length;
  const line = `- Rule ${edited + 1}: ${sentences(seeded(edition + 9_000), 14)}`;
  return ["# How we work here", "", ...rules.map((rule, at) => (at === edited ? line : rule)), ""].join("\n");
}
