import { HistoryReplay } from "../src/contract/gen/quire/v1/assembly.js";
import { PrefixPolicy } from "../src/contract/gen/quire/v1/context_settings.js";
import { langchainTrim, Peer, slidingWindow } from "./cache-peers.js";
import { claude, gemini, gpt, type SimulatedModel } from "./cache-providers.js";
import { CacheReplay, type PeerInput, type ReplayOptions, type SentRequest } from "./cache-replay.js";
import {
  atLeastPercent,
  atMostPercent,
  betweenCompactions,
  costOf,
  percent,
  predictionError,
  printBars,
  shareRead,
  sumOf,
  warm,
  worstTurn,
} from "./cache-share.js";
import type { Figure } from "./figure.js";
import { progress } from "./measure.js";

const turns = 1_000;
const budgetTokens = 32_768;
const editEveryTurns = 5;
const leastShare = 90;
const leastShareBetween = 95;
const mostError = 1;

/** What providers' prompt caches read of long conversations, beside engines that move the cut with every message. */
export async function run(): Promise<Figure[]> {
  const asSent = await againstWindow(claude);
  return [
    ...asSent.figures,
    ...(await againstWindow(gpt)).figures,
    ...(await againstWindow(gemini)).figures,
    ...(await withEdits()),
    ...(await withoutContext(asSent.sent)),
  ];
}

async function play(
  name: string,
  options: Omit<ReplayOptions, "turns">,
  onRequest?: (input: PeerInput) => Promise<void>,
): Promise<readonly SentRequest[]> {
  const start = performance.now();
  const sent = await CacheReplay.play({ ...options, turns }, onRequest);
  const compactions = sent.filter(({ isAfterCompaction }) => isAfterCompaction).length;
  const cold = sent.length - warm(sent).length;
  const seconds = Math.round((performance.now() - start) / 1_000);
  progress(
    `cache: ${name}: ${sent.length} requests, ${compactions} compactions, ${cold} cold, in ${seconds} s`,
  );
  return sent;
}

async function againstWindow(
  model: SimulatedModel,
): Promise<{ figures: Figure[]; sent: readonly SentRequest[] }> {
  const window = new Peer(model, budgetTokens, slidingWindow);
  const sent = await play(model.name, { model }, (input) => window.request(input));
  const ours = shareRead(warm(sent));
  const theirs = shareRead(warm(window.sent));
  const all = shareRead(sent);
  const of = `cache: ${model.name}, ${turns.toLocaleString("en")} turns at 32k`;
  printBars(`${model.name}: read of the input while the cache is warm`, {
    "Quire, compaction": ours,
    "sliding window": theirs,
    "Quire, cold requests too": all,
  });
  return {
    sent,
    figures: [
      atLeastPercent(`${of}: read from cache`, ours, leastShare),
      percent(`${of}: read from cache, sliding window`, theirs, "the peer"),
      percent(`${of}: read from cache, with the cold requests`, all),
      ...predicted(of, sent),
    ],
  };
}

function predicted(of: string, sent: readonly SentRequest[]): Figure[] {
  return [
    atMostPercent(`${of}: predicted against read`, predictionError(sent), mostError),
    percent(`${of}: predicted against read, the worst turn`, worstTurn(sent), "of its input"),
  ];
}

/** A document of the system prompt changes all the time: the prefix stays, or is made anew each time, as others do. */
async function withEdits(): Promise<Figure[]> {
  const model = claude;
  const trimmed = new Peer(model, budgetTokens, langchainTrim);
  const stable = await play("edits, stable prefix", { model, editEveryTurns });
  const liveOptions = { model, editEveryTurns, prefix: PrefixPolicy.LIVE };
  const live = await play("edits, live prefix", liveOptions, (input) => trimmed.request(input));
  const shares = {
    "stable prefix": shareRead(betweenCompactions(stable)),
    "live prefix": shareRead(betweenCompactions(live)),
    "LangChain trimMessages": shareRead(warm(trimmed.sent)),
  };
  printBars("AGENTS.md edited every 5 turns: read of the input between compactions", shares);
  const of = "cache: AGENTS.md edited every 5 turns";
  return [
    atLeastPercent(
      `${of}: read between compactions, stable prefix`,
      shares["stable prefix"],
      leastShareBetween,
    ),
    percent(`${of}: read between compactions, live prefix`, shares["live prefix"]),
    percent(`${of}: read, LangChain trimMessages`, shares["LangChain trimMessages"], "the peer"),
    percent(`${of}: read with compactions, stable prefix`, shareRead(warm(stable))),
    percent(`${of}: read with compactions, live prefix`, shareRead(warm(live))),
    ...predicted(`${of}, stable prefix`, stable),
    ...predicted(`${of}, live prefix`, live),
    costs(`${of}, stable prefix`, stable),
    costs(`${of}, live prefix`, live),
    costs(`${of}, LangChain trimMessages`, trimmed.sent),
  ];
}

/** The cost of history without what was sent with it. */
async function withoutContext(asSent: readonly SentRequest[]): Promise<Figure[]> {
  const clean = await play("CLEAN", { model: claude, replay: HistoryReplay.CLEAN });
  printBars("replay of history: read of the input while the cache is warm", {
    "as sent": shareRead(warm(asSent)),
    CLEAN: shareRead(warm(clean)),
  });
  return [
    percent("cache: CLEAN replay: read from cache", shareRead(warm(clean))),
    ...predicted("cache: CLEAN replay", clean),
    costs("cache: replay as sent", asSent),
    costs("cache: CLEAN replay", clean),
    {
      figure: "cache: cost of CLEAN / as sent",
      value: costOf(claude, clean) / costOf(claude, asSent),
    },
  ];
}

/** With the cache, in thousands of input tokens at full price a turn; all requests, cold ones too. */
function costs(of: string, sent: readonly SentRequest[] | Peer["sent"]): Figure {
  const input = sumOf(sent, (request) => request.input);
  return {
    figure: `${of}: cost a turn`,
    value: costOf(claude, sent) / turns / 1_000,
    unit: "k tokens",
    note: `${(input / turns / 1_000).toFixed(1)} k without a cache`,
  };
}
