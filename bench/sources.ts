import { Caches } from "../src/domain/caches.js";
import { systemClock, systemTimers } from "../src/domain/clock.js";
import { defaultPromptTexts } from "../src/domain/prompt-texts.js";
import type { RecallDeps } from "../src/recall/deps.js";
import { packagedWeights } from "../src/recall/ranking/weights.js";
import { rankTexts } from "../src/recall/search/rank-texts.js";
import { askSources } from "../src/sources/ask-sources.js";
import type { Knowledge } from "../src/sources/builtin/knowledge.js";
import { procedures } from "../src/sources/builtin/procedures.js";
import type { TextsToRank } from "../src/sources/rank-texts.js";
import { plainRules, type SourceRules } from "../src/sources/rules.js";
import type { ActiveSource, SourceView } from "../src/sources/source.js";
import { SourceCalls } from "../src/sources/source-calls.js";
import { atMost, type Figure } from "./figure.js";
import { elapsedMs, interleaved, prose, seeded } from "./measure.js";

const OVERHEAD_LIMIT = 1.5;
const PARALLEL_LIMIT = 1.3;
const SOURCES = 10;
const SLOW_MS = 100;
/** So many are timed as one, for the clock is coarse. */
const AT_ONCE = 50;

const view: SourceView = {
  tenantId: "default",
  sessionId: "s",
  sessionLabel: "s",
  headTurnId: "",
  agent: "atlas",
  role: "AGENT_ROLE_UNIFIED",
  task: "",
  model: "gpt-4o",
  eventText: "Which tools does the agent call while it waits for answers in order?",
  isInToolLoop: false,
  identity: "",
  platform: "",
  permissions: [],
  contextTokens: 100_000,
  budgetTokens: 10_000,
  recall: { limit: 10, threshold: undefined },
  nowMs: 0,
  isDryRun: false,
  texts: defaultPromptTexts,
  history: undefined,
};

/** Built-in sources that answer at once: each ranks twenty procedures that it has in memory, and shows the best three. */
function quick(): readonly ActiveSource[] {
  const random = seeded(16);
  const recall = { weights: packagedWeights(), embedding: undefined } as unknown as RecallDeps;
  return Array.from({ length: SOURCES }, (_, index) => {
    const items = Array.from({ length: 20 }, (__, item) => ({
      key: `p${item}`,
      title: prose(random, 40),
      steps: prose(random, 200),
      updatedMs: 0,
    }));
    const known = {
      items: async () => items,
      rank: (asked: TextsToRank<object>) => rankTexts(recall, asked),
    } as unknown as Knowledge;
    const of = { tenantId: "default", agent: "atlas", marks: [] };
    return {
      source: {
        name: `quick_${index}`,
        fetch: (asked: SourceView, rules: SourceRules) => procedures.answer(known, of, asked, rules),
      },
      rules: procedures.defaults,
    };
  });
}

/** Sources that have nothing to do but say one line: what is left is the cost of asking. */
function light(): readonly ActiveSource[] {
  return Array.from({ length: SOURCES }, (_, index) => ({
    source: {
      name: `light_${index}`,
      fetch: async () => ({ blocks: [{ title: "it", content: `line ${index}`, entities: [] }] }),
    },
    rules: plainRules,
  }));
}

function slow(): readonly ActiveSource[] {
  const wait = () => new Promise((done) => setTimeout(done, SLOW_MS));
  return Array.from({ length: SOURCES }, (_, index) => ({
    source: {
      name: `slow_${index}`,
      fetch: async () => {
        await wait();
        return { blocks: [{ title: "it", content: "late", entities: [] }] };
      },
    },
    rules: plainRules,
  }));
}

/** Asking ten sources: what it costs beside calling them, and that they are asked at once. */
export async function run(): Promise<Figure[]> {
  const calls = new SourceCalls(systemClock, new Caches());
  const gather = (sources: readonly ActiveSource[]) =>
    Promise.all(askSources(calls, systemTimers, sources, view, { mostMs: 60_000 }));
  const waiting = new AbortController();
  const gathering = (sources: readonly ActiveSource[]) => () =>
    elapsedMs(async () => {
      for (let count = 0; count < AT_ONCE; count++) await gather(sources);
    });
  const calling = (sources: readonly ActiveSource[]) => () =>
    elapsedMs(async () => {
      for (let count = 0; count < AT_ONCE; count++)
        for (const { source, rules } of sources) await source.fetch(view, rules, waiting);
    });
  /** A loop that knows of each call what a report must say: how long it took, and whether it failed. */
  const timing = (sources: readonly ActiveSource[]) => () =>
    elapsedMs(async () => {
      for (let count = 0; count < AT_ONCE; count++)
        for (const { source, rules } of sources) {
          const startedMs = performance.now();
          const report = { state: "", elapsedMs: 0 };
          try {
            const { blocks } = await source.fetch(view, rules, waiting);
            report.state = blocks.length > 0 ? "ok" : "empty";
          } catch {
            report.state = "failed";
          }
          report.elapsedMs = performance.now() - startedMs;
        }
    });
  const [ranking, saying] = [quick(), light()];
  const times = await interleaved(201, {
    gathered: gathering(ranking),
    called: calling(ranking),
    lightGathered: gathering(saying),
    lightCalled: calling(saying),
    lightTimed: timing(saying),
  });
  const usEach = (ms: number) => (1_000 * ms) / AT_ONCE / SOURCES;
  const us = (ms: number) => usEach(ms).toFixed(2);
  const late = slow();
  const waits = await interleaved(11, {
    all: () => elapsedMs(() => gather(late)),
    one: () => elapsedMs(async () => late[0]!.source.fetch(view, plainRules, waiting)),
  });
  return [
    atMost(
      `${SOURCES} sources that rank what they know and answer at once, against a plain loop`,
      times.gathered / times.called,
      OVERHEAD_LIMIT,
    ),
    {
      figure: `${SOURCES} sources that only say one line, against a plain loop`,
      value: times.lightGathered / times.lightCalled,
      note: `${us(times.lightGathered)} us against ${us(times.lightCalled)} us for each source`,
    },
    {
      figure: "the same, against a loop that times each call and catches what it throws",
      value: times.lightGathered / times.lightTimed,
      note: `${us(times.lightTimed)} us for each source`,
    },
    {
      figure: "asking costs each of them",
      value: usEach(times.lightGathered - times.lightCalled),
      unit: "us",
    },
    atMost(`${SOURCES} sources of ${SLOW_MS} ms, against one of them`, waits.all / waits.one, PARALLEL_LIMIT),
  ];
}
