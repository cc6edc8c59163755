import type {
  CompactionEvent,
  CompactionTurn,
  SummarizerFailure,
} from "../../contract/gen/quire/v1/compaction.js";
import { floorText } from "../../domain/compaction.js";
import { counted, printable } from "../terminal/printable.js";
import { percent, solidBar } from "./budget-text.js";
import { type Lines, labelWidth, number, word } from "./lines.js";

const label = "compaction";
const strategyPrefix = "COMPRESSION_STRATEGY_";

/** What an assembly says about a compaction. */
export function printCompactionEvent(lines: Lines, { event }: CompactionEvent): void {
  switch (event?.$case) {
    case "started": {
      const { trigger, compressionStrategy, summarizers, historyTokens, targetTokens } = event.value;
      const who = summarizers.length > 0 ? `, ask ${summarizers.join(", then ")}` : "";
      const why = word(trigger, "COMPACTION_TRIGGER_");
      const what = `${counted(historyTokens, "token")} of history to ${number(targetTokens)}`;
      lines.entry(label, printable(`${what} (${why}): ${word(compressionStrategy, strategyPrefix)}${who}`));
      break;
    }
    case "finished":
      lines.entry(label, `done: ${turnsText(event.value)}; ${tokensText(event.value)}`);
      lines.below(printable(`${makerText(event.value)}, in ${timeText(event.value.durationMs)}`));
      printFailures(lines, event.value.failures);
      break;
    case "failed":
      lines.entry(label, printable(`not made: ${event.value.reason}`), "yellow");
      printFailures(lines, event.value.failures);
      break;
    case "needed": {
      const { plan } = event.value;
      const most = counted(plan?.maxSummaryTokens ?? 0, "token");
      lines.entry(label, `needed: a summary of at most ${most}, by SubmitCompaction`, "yellow");
      lines.below("history is cut meanwhile");
      break;
    }
  }
}

/** A compaction that was made: what it stands for, what it saves, who made it, and the summary. */
export function printCompaction(lines: Lines, compaction: CompactionTurn): void {
  const { tokensBefore, tokensAfter, floors, failures, summary, summaryTokens } = compaction;
  lines.entry("turns", turnsText(compaction));
  lines.entry("tokens", tokensText(compaction));
  const nameWidth = "before  ".length;
  const numberWidth = number(Math.max(tokensBefore, tokensAfter)).length;
  const barWidth = lines.width - labelWidth - nameWidth - numberWidth - 2;
  for (const [name, tokens] of [
    ["before", tokensBefore],
    ["after", tokensAfter],
  ] as const) {
    const share = tokensBefore > 0 ? Math.min(1, tokens / tokensBefore) : 0;
    const bar = solidBar(share * barWidth).padEnd(barWidth);
    const amount = number(tokens).padStart(numberWidth);
    lines.below(`${name.padEnd(nameWidth)}${lines.paint("green", bar)}  ${amount}`);
  }
  lines.entry("made by", printable(makerText(compaction)));
  lines.entry("took", timeText(compaction.durationMs));
  for (const floor of floors) lines.entry("gave way", printable(floorText(floor)), "yellow");
  printFailures(lines, failures);
  lines.entry("summary", counted(summaryTokens, "token"));
  lines.below(...printable(summary).split("\n"));
}

/** How many turns a compaction stands for, and how many stay. */
export function turnsText({ summarizedTurns, depth, firstKeptMessageIndex }: CompactionTurn): string {
  const kept = depth - summarizedTurns;
  const split = firstKeptMessageIndex > 0 ? `, the first from message ${firstKeptMessageIndex} on` : "";
  // While the turn that it hangs off is open it has no depth.
  const rest = depth > 0 ? `, ${number(kept)} kept${split}` : split;
  return `${counted(summarizedTurns, "turn")} summarized${rest}`;
}

export function tokensText({ tokensBefore, tokensAfter }: CompactionTurn): string {
  return `${number(tokensBefore)} -> ${counted(tokensAfter, "token")}, ${percent(tokensAfter, tokensBefore)} of before`;
}

export function makerText({
  summarizer,
  provider,
  model,
  compressionStrategy,
  inputTokens,
  outputTokens,
}: CompactionTurn) {
  const from = [provider, model].filter(Boolean).join(" ");
  const who = summarizer || word(compressionStrategy, strategyPrefix);
  const cost =
    inputTokens > 0 ? `, ${number(inputTokens)} tokens read and ${number(outputTokens)} written` : "";
  return `${who}${from && from !== who ? ` (${from})` : ""}${cost}`;
}

function timeText(durationMs: number): string {
  return durationMs < 1_000 ? `${durationMs} ms` : `${(durationMs / 1_000).toFixed(1)} s`;
}

function printFailures(lines: Lines, failures: readonly SummarizerFailure[]): void {
  for (const { summarizer, reason } of failures) {
    const named = reason.startsWith(summarizer) ? reason : `${summarizer}: ${reason}`;
    lines.entry("not used", printable(named), "yellow");
  }
}
