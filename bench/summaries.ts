import { summarizeExtractively } from "../src/compaction/extractive/extractive.js";
import { extractiveSummarizer } from "../src/compaction/jobs/fold-threads.js";
import type { FoldedTurn, SummaryTask } from "../src/compaction/plan/summary-task.js";
import { MessageRole } from "../src/domain/message.js";
import { Offload } from "../src/offload/offload.js";
import { countTokens } from "../src/tokens/count-tokens.js";
import type { Figure } from "./figure.js";
import { type Conversation, locomoFile, readLocomo, type Spoken } from "./locomo.js";
import { median, progress, seeded } from "./measure.js";
import { type Needed, neededTerms, wordsIn } from "./needed-terms.js";

const BUDGETS = [500, 1_000, 2_000, 4_000];
const SUMMARIZED_SHARE = 0.75;
const RANDOM_SEEDS = 8;
const COMPACTIONS = 10;
const RECURSION_LIMIT = 0.9;
const TOPICS = ["family", "work", "music", "book", "food", "travel"];
const OBEYED_LIMIT = 2;
const TIME_LIMIT_MS = 1_000;
const STALL_LIMIT_MS = 50;
const BAR_CHARS = 40;

const count = (text: string) => countTokens(text, "o200k_base");

/** The shares that a summary keeps. */
interface Kept {
  readonly evidence: number;
  readonly answers: number;
  readonly answerWords: number;
}

const measures: Readonly<Record<keyof Kept, string>> = {
  evidence: "names and numbers of the evidence",
  answers: "names and numbers of the answers",
  answerWords: "words of the answers",
};

export async function run(): Promise<Figure[]> {
  const conversations = readLocomo();
  if (conversations === undefined) {
    progress(`summaries: skipped, there is no ${locomoFile}; QUIRE_EVAL_DATA names the folder`);
    return [];
  }
  const parts = conversations.map(summarizedPart);
  const figures = BUDGETS.flatMap((budget) => keptAt(budget, parts));
  return [
    ...figures,
    ...BUDGETS.map((budget) => again(budget, parts)),
    obeyed(parts),
    ...(await speed(parts)),
  ];
}

interface SummarizedPart {
  readonly spoken: readonly Spoken[];
  readonly turns: readonly FoldedTurn[];
  readonly needed: Needed;
}

function summarizedPart(conversation: Conversation): SummarizedPart {
  const sessions = conversation.sessions.slice(0, Math.ceil(conversation.sessions.length * SUMMARIZED_SHARE));
  const spoken = sessions.flat();
  return {
    spoken,
    turns: turnsOf(spoken, conversation.speakers[0]),
    needed: neededTerms(conversation, new Set(spoken.map(({ id }) => id))),
  };
}

/** One turn for each thing that the first speaker says, and what the other answers. */
function turnsOf(spoken: readonly Spoken[], user: string): FoldedTurn[] {
  const turns: FoldedTurn[] = [];
  for (const { id, speaker, text, spokenMs } of spoken) {
    const written = `${speaker}: ${text}`;
    const message = {
      id,
      turnId: "",
      index: 0,
      role: speaker === user ? MessageRole.USER : MessageRole.ASSISTANT,
      parts: [{ content: { $case: "text" as const, value: { text: written } } }],
      contextParts: [],
      contextJson: "",
      o200kTokens: count(written),
      contextO200kTokens: 0,
      createTime: undefined,
      injected: undefined,
      prompted: false,
    };
    const last = turns.at(-1);
    if (last && (message.role === MessageRole.ASSISTANT || last.createdMs !== spokenMs)) {
      turns[turns.length - 1] = {
        ...last,
        messages: [...last.messages, message],
        tokens: last.tokens + message.o200kTokens,
      };
    } else {
      turns.push({
        turnId: id,
        depth: turns.length,
        createdMs: spokenMs,
        messages: [message],
        tokens: message.o200kTokens,
      });
    }
  }
  return turns;
}

function keptAt(budget: number, parts: readonly SummarizedPart[]): Figure[] {
  const ours = shareKept(parts, (part) => [summarizeExtractively(taskOf(part.turns, budget), count)]);
  const oldest = shareKept(parts, ({ spoken }) => [fill(firstSentences(spoken), budget)]);
  const spread = shareKept(parts, ({ spoken }) => [fill(spreadOut(firstSentences(spoken), budget), budget)]);
  const random = shareKept(parts, ({ spoken }) =>
    Array.from({ length: RANDOM_SEEDS }, (_, seed) => fill(shuffled(allSentences(spoken), seed + 1), budget)),
  );
  return (Object.keys(measures) as (keyof Kept)[]).flatMap((measure) => {
    const first = Math.max(oldest[measure], spread[measure]);
    progress(`\n${budget} tokens, ${measures[measure]}`);
    progress(`  ours            ${bar(ours[measure])}`);
    progress(`  first sentences ${bar(first)}`);
    progress(`  random          ${bar(random[measure])}`);
    const name = `summaries: ${measures[measure]} kept at ${budget} tokens`;
    const isHeld = measure !== "answerWords";
    return [
      {
        figure: name,
        value: ours[measure] * 100,
        unit: "%",
        note: `first sentences ${percent(first)}, random ${percent(random[measure])}`,
      },
      ratio(`${name}, against first sentences`, ours[measure] / first, isHeld),
      ratio(`${name}, against random sentences`, ours[measure] / random[measure], isHeld),
    ];
  });
}

/** What the tenth of ten compactions keeps, each of which folds a tenth of the turns and the summary before, against one that folds all. */
function again(budget: number, parts: readonly SummarizedPart[]): Figure {
  const once = shareKept(parts, ({ turns }) => [summarizeExtractively(taskOf(turns, budget), count)]);
  const tenth = shareKept(parts, ({ turns }) => {
    let previousSummary = "";
    for (let step = 0; step < COMPACTIONS; step++) {
      const from = Math.floor((step * turns.length) / COMPACTIONS);
      const to = Math.floor(((step + 1) * turns.length) / COMPACTIONS);
      const task = { ...taskOf(turns.slice(from, to), budget), previousSummary };
      previousSummary = summarizeExtractively(task, count);
    }
    return [previousSummary];
  });
  const value = tenth.evidence / once.evidence;
  progress(
    `\n${budget} tokens, evidence after ${COMPACTIONS} compactions ${percent(tenth.evidence)}, after one ${percent(once.evidence)}`,
  );
  return {
    figure: `summaries: evidence kept by the tenth compaction at ${budget} tokens, against one shot`,
    value,
    limit: RECURSION_LIMIT,
    holds: value >= RECURSION_LIMIT,
    note: "at least",
  };
}

/** How often a summary says what it was asked to keep, against the same summary without the instruction. */
function obeyed(parts: readonly SummarizedPart[]): Figure {
  let asked = 0;
  let unasked = 0;
  for (const { turns } of parts)
    for (const topic of TOPICS) {
      const said = (instructions: string) => {
        const text = summarizeExtractively({ ...taskOf(turns, 1_000), instructions }, count);
        return text.toLowerCase().split(topic).length - 1;
      };
      asked += said(`Keep what was said about ${topic}.`);
      unasked += said("");
    }
  progress(`\n${TOPICS.join(", ")}: said ${asked} times where asked for, ${unasked} times where not`);
  const value = asked / Math.max(1, unasked);
  const figure = "summaries: mentions of what the instructions ask for, against none";
  return { figure, value, limit: OBEYED_LIMIT, holds: value >= OBEYED_LIMIT, note: "at least" };
}

function ratio(figure: string, value: number, isHeld: boolean): Figure {
  return isHeld ? { figure, value, limit: 1, holds: value >= 1, note: "at least" } : { figure, value };
}

function taskOf(turns: readonly FoldedTurn[], maxTokens: number): SummaryTask {
  return { previousSummary: "", turns, instructions: "", maxTokens, mustKeep: [] };
}

/** The share of what all conversations need, taken together; of several summaries of one, the mean. */
function shareKept(
  parts: readonly SummarizedPart[],
  summaries: (part: SummarizedPart) => readonly string[],
): Kept {
  const kept = { evidence: 0, answers: 0, answerWords: 0 };
  const needed = { evidence: 0, answers: 0, answerWords: 0 };
  for (const part of parts) {
    const texts = summaries(part).map(wordsIn);
    for (const measure of Object.keys(measures) as (keyof Kept)[]) {
      const terms = [...part.needed[measure]].flat();
      needed[measure] += terms.length;
      for (const words of texts)
        kept[measure] += terms.filter((term) => words.has(term)).length / texts.length;
    }
  }
  return {
    evidence: kept.evidence / needed.evidence,
    answers: kept.answers / needed.answers,
    answerWords: kept.answerWords / needed.answerWords,
  };
}

function sentencesOf({ text }: Spoken): string[] {
  return text.split(/(?<=[.!?])\s+/u).filter((sentence) => sentence !== "");
}

function allSentences(spoken: readonly Spoken[]): string[] {
  return spoken.flatMap(sentencesOf);
}

function firstSentences(spoken: readonly Spoken[]): string[] {
  return spoken.flatMap((turn) => sentencesOf(turn).slice(0, 1));
}

/** Every so many-th, so that the budget is spent over the whole conversation. */
function spreadOut(sentences: readonly string[], budget: number): string[] {
  const step = Math.max(1, count(sentences.join("\n")) / budget);
  const chosen: string[] = [];
  for (let at = 0; at < sentences.length; at += step) chosen.push(sentences[Math.floor(at)]!);
  return chosen;
}

function shuffled(sentences: readonly string[], seed: number): string[] {
  const random = seeded(seed * 7_919);
  return sentences
    .map((sentence) => ({ sentence, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ sentence }) => sentence);
}

function fill(sentences: readonly string[], budget: number): string {
  const chosen: string[] = [];
  let left = budget;
  for (const sentence of sentences) {
    const cost = count(`${sentence}\n`);
    if (cost > left) continue;
    chosen.push(sentence);
    left -= cost;
  }
  return chosen.join("\n");
}

async function speed(parts: readonly SummarizedPart[]): Promise<Figure[]> {
  const turns: FoldedTurn[] = [];
  let tokens = 0;
  for (let at = 0; tokens < 100_000; at++) {
    const part = parts[at % parts.length]!;
    turns.push(...part.turns);
    tokens += part.turns.reduce((sum, turn) => sum + turn.tokens, 0);
  }
  const task = taskOf(turns, 4_000);
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    summarizeExtractively(task, count);
    return ((performance.now() - start) / tokens) * 100_000;
  });
  const stallMs = await longestStall(task);
  return [
    {
      figure: "summaries: time for 100,000 tokens",
      value: median(times),
      unit: "ms",
      limit: TIME_LIMIT_MS,
      holds: median(times) <= TIME_LIMIT_MS,
    },
    {
      figure: "summaries: longest stall of the event loop",
      value: stallMs,
      unit: "ms",
      limit: STALL_LIMIT_MS,
      holds: stallMs <= STALL_LIMIT_MS,
    },
  ];
}

async function longestStall(task: SummaryTask): Promise<number> {
  let isDone = false;
  let longest = 0;
  let last = performance.now();
  const watch = () => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
    if (!isDone) setImmediate(watch);
  };
  setImmediate(watch);
  const offload = new Offload(1);
  await extractiveSummarizer(offload).summarize(task, new AbortController().signal);
  isDone = true;
  await offload.close();
  return longest;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function bar(share: number): string {
  return `${"█".repeat(Math.round(share * BAR_CHARS)).padEnd(BAR_CHARS, "·")} ${percent(share)}`;
}
