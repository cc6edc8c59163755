import { fromMicroseconds } from "../domain/clock.js";
import {
  type CompactionTrigger,
  type CompactionTurn,
  type Floor,
  type SummarizerFailure,
  strategyOf,
} from "../domain/compaction.js";
import type { CompactionRow } from "../storage/ledger/rows.js";
import { decodeMessages } from "../thread/message-codec.js";

/** The summary of a compaction, without its mark, which is the first line. */
export function summaryText(row: CompactionRow): string {
  const [message] = decodeMessages(row.wire);
  const part = message?.parts[0]?.content;
  return part?.$case === "text" ? part.value.text.slice(part.value.text.indexOf("\n") + 1) : "";
}

export function viewCompaction(row: CompactionRow): CompactionTurn {
  return {
    id: row.id,
    sessionId: row.sessionId,
    anchorTurnId: row.anchorTurnId,
    depth: row.depth ?? 0,
    summary: summaryText(row),
    lastSummarizedTurnId: row.lastSummarizedTurnId ?? "",
    firstKeptTurnId: row.firstKeptTurnId,
    firstKeptMessageIndex: row.firstKeptMessageIndex,
    summarizedTurns: row.summarizedTurns,
    previousCompactionId: row.previousId ?? "",
    compressionStrategy: strategyOf(row.strategy),
    parameters: JSON.parse(row.parametersJson) as { [key: string]: string },
    summarizer: row.summarizer,
    provider: row.provider,
    model: row.model,
    tokensBefore: Number(row.tokensBefore),
    tokensAfter: Number(row.tokensAfter),
    summaryTokens: row.summaryTokens,
    inputTokens: Number(row.inputTokens),
    outputTokens: Number(row.outputTokens),
    durationMs: row.durationMs,
    trigger: row.trigger as CompactionTrigger,
    instructions: row.instructions,
    floors: JSON.parse(row.floorsJson) as Floor[],
    failures: JSON.parse(row.failuresJson) as SummarizerFailure[],
    createTime: fromMicroseconds(row.createdUs),
    applyTime: row.appliedUs === null ? undefined : fromMicroseconds(row.appliedUs),
  };
}
