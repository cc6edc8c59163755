import type { GetCacheReportResponse } from "../../contract/gen/quire/v1/assembly_service.js";
import type { CacheTurn, CacheUse } from "../../contract/gen/quire/v1/prompt_cache.js";
import { percent } from "../assemble/budget-text.js";
import { changeText } from "../assemble/change-text.js";
import { type Lines, number } from "../assemble/lines.js";
import { counted, localTime, oneLine } from "../terminal/printable.js";
import { table } from "../terminal/table.js";
import { barLegend, type CacheSplit, cacheBar, splitOf, sumOf } from "./cache-bar.js";

const columns = ["TURN", "TIME", "CACHE", "INPUT", "READ", "PREDICTED", "HIT", "MISSED"];
const numbers = ["INPUT", "READ", "PREDICTED", "HIT"];
const barWidth = 24;

/** The turns with what their provider reported beside what was predicted, and the sum for each model. */
export function printCacheReport(lines: Lines, { turns, models }: GetCacheReportResponse): void {
  const splits = turns.map((turn) => reportedSplit(turn) ?? predictedSplit(turn));
  const widest = Math.max(0, ...splits.map((split) => (split ? sumOf(split) : 0)));
  const rows = turns.map((turn, at) => {
    const split = splits[at];
    return row(lines, turn, split ? cacheBar(lines.paint, split, widest, barWidth) : "");
  });
  lines.plain(table(columns, rows, numbers));
  lines.note(`${barLegend}; in a turn without reported usage, as predicted`);
  lines.blank();
  for (const use of models) lines.entry(oneLine(use.model, 40) || "no model", useText(use));
}

function row(lines: Lines, turn: CacheTurn, bar: string): readonly string[] {
  const { turnId, createTime, predicted, inputTokens, cachedInputTokens, missCause } = turn;
  const isReported = inputTokens > 0;
  return [
    `…${turnId.slice(-8)}`,
    localTime(createTime),
    bar,
    isReported ? number(inputTokens) : "-",
    isReported ? number(cachedInputTokens) : "-",
    predicted ? number(predicted.readTokens) : "-",
    isReported ? percent(cachedInputTokens, inputTokens) : "-",
    isReported
      ? lines.paint("yellow", missCause ? oneLine(changeText(missCause), 50) : "")
      : lines.paint("dim", "no usage was reported"),
  ];
}

/** What the provider reported; undefined where nobody said. */
function reportedSplit({
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
}: CacheTurn): CacheSplit | undefined {
  if (inputTokens === 0) return undefined;
  const fresh = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  return { read: cachedInputTokens, written: cacheWriteTokens, fresh };
}

function predictedSplit({ predicted }: CacheTurn): CacheSplit | undefined {
  return predicted && splitOf(predicted);
}

function useText({ turns, inputTokens, cachedInputTokens, predictedHitRate }: CacheUse): string {
  const share = percent(cachedInputTokens, inputTokens);
  const read = `${number(cachedInputTokens)} of ${number(inputTokens)} input tokens read from the cache`;
  return `${counted(turns, "turn")}: ${read}, ${share}; ${percent(predictedHitRate, 1)} were predicted`;
}
