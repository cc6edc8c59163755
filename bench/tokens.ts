import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { compiledModule, packageRoot } from "../src/config/package-root.js";
import { countTokens } from "../src/tokens/count-tokens.js";
import { TokenCounter } from "../src/tokens/token-counter.js";
import type { Figure } from "./figure.js";

const ROUNDS = 31;
const SAMPLE_CHARS = 10_000;
const STALL_LIMIT_MS = 50;
const TOTAL_LIMIT_MS = 5000;

const CHINESE =
  "天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。寒来暑往，秋收冬藏。闰余成岁，律吕调阳。云腾致雨，露结为霜。" +
  "我们在会议上讨论了下一季度的计划，并决定先完成服务器的升级。请把测试结果发给我，谢谢！";

function seededBelow(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function randomChars(length: number, first: number, kinds: number): string {
  const below = seededBelow(length);
  return Array.from({ length }, () => String.fromCharCode(first + below(kinds))).join("");
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

function timeMs(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

async function millionLetters(counter: TokenCounter): Promise<Figure[]> {
  const text = randomChars(1_000_000, 0x61, 26);
  const resolution = 1;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  await sleep(20);
  delay.reset();
  const start = performance.now();
  await counter.count(text);
  const totalMs = performance.now() - start;
  await sleep(5);
  delay.disable();
  const stallMs = delay.max / 1e6 - resolution;
  return [
    {
      figure: "tokens: longest stall of the event loop during 1e6 letters without a space",
      value: stallMs,
      unit: "ms",
      limit: STALL_LIMIT_MS,
      holds: stallMs <= STALL_LIMIT_MS,
    },
    {
      figure: "tokens: 1e6 letters without a space",
      value: totalMs,
      unit: "ms",
      limit: TOTAL_LIMIT_MS,
      holds: totalMs <= TOTAL_LIMIT_MS,
      note: "with the start of the worker",
    },
  ];
}

/** What the calling thread takes at the most before the worker takes over. */
function belowThreshold(counter: TokenCounter): Figure[] {
  const bytes = 64 * 1024;
  const texts = { letters: randomChars(bytes, 0x61, 26), Chinese: randomChars(bytes / 3, 0x4e00, 0x5000) };
  counter.prepare();
  return Object.entries(texts).map(([name, text]) => ({
    figure: `tokens: first 64 KB of random ${name} without a break, in the calling thread`,
    value: timeMs(() => counter.countNow(text)),
    unit: "ms",
  }));
}

function speedAgainstJsTiktoken(): Figure[] {
  const peer = new Tiktoken(o200k);
  const module = join(packageRoot, "node_modules/@grpc/grpc-js");
  const texts = {
    prose: readFileSync(join(module, "LICENSE"), "utf8"),
    code: readFileSync(join(module, "build/src/client.js"), "utf8"),
    Chinese: CHINESE.repeat(100),
  };
  return Object.entries(texts).map(([name, whole]) => {
    const text = whole.slice(0, SAMPLE_CHARS);
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(timeMs(() => countTokens(text, "o200k_base")));
      theirs.push(timeMs(() => peer.encode(text, [], [])));
    }
    const megabytes = Buffer.byteLength(text) / 1e6;
    return {
      figure: `tokens: speed on ${name} against js-tiktoken`,
      value: median(theirs) / median(ours),
      unit: "x",
      note: `${(megabytes / (median(ours) / 1000)).toFixed(1)} MB/s`,
    };
  });
}

/** In a process of its own, whose memory nothing else has touched. */
function loading(): Figure[] {
  const script = `
    import { loadVocabulary } from "${compiledModule("src/tokens/vocabulary.ts").href}";
    const before = process.memoryUsage.rss();
    const start = performance.now();
    loadVocabulary("o200k_base");
    const ms = performance.now() - start;
    console.log(JSON.stringify({ ms, rss: process.memoryUsage.rss() - before }));`;
  const runs = Array.from({ length: 5 }, () => {
    const answer = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
      encoding: "utf8",
    });
    return JSON.parse(answer) as { readonly ms: number; readonly rss: number };
  });
  return [
    { figure: "tokens: load of o200k_base", value: median(runs.map((run) => run.ms)), unit: "ms" },
    { figure: "tokens: memory of o200k_base", value: median(runs.map((run) => run.rss)) / 1e6, unit: "MB" },
  ];
}

export async function run(): Promise<Figure[]> {
  const counter = new TokenCounter();
  try {
    return [
      ...(await millionLetters(counter)),
      ...belowThreshold(counter),
      ...speedAgainstJsTiktoken(),
      ...loading(),
    ];
  } finally {
    await counter.close();
  }
}
