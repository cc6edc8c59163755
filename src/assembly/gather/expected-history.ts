import type { LedgerDeps } from "../../ledger/deps.js";
import type { ShownHistory, TurnPlace } from "../../sources/source.js";
import { decodeMessages } from "../../thread/message-codec.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type ExpectedInput = Pick<ResolvedContext, "tenantId" | "thread">;

/** Of the last turns, so many are named. */
const lastTurns = 16;

/** What history shows if its cut stays where the context before left it. Without such a cut nothing is taken to be folded away. */
export async function expectedHistory(
  { threads }: Pick<LedgerDeps, "threads">,
  { tenantId, thread: { segments, compaction } }: ExpectedInput,
): Promise<ShownHistory> {
  const first = compaction ? await threads.findTurn(tenantId, compaction.firstKeptTurnId) : undefined;
  const firstDepth = first?.depth ?? 0;
  const turns: TurnPlace[] = [];
  for (const segment of segments.toReversed()) {
    const left = lastTurns - turns.length;
    const rows = left > 0 ? await threads.listSegment(tenantId, segment, [], left) : [];
    for (const { id, depth } of rows)
      if ((depth ?? 0) >= firstDepth) turns.push({ turnId: id, depth: depth ?? 0 });
  }
  // The first kept turn may be the open one, which has no place yet: then its cut says nothing of the others.
  const isKnown = compaction !== undefined && firstDepth > 0;
  return {
    firstDepth,
    turns: turns.reverse(),
    compactionId: isKnown ? compaction.id : "",
    summary: () => (isKnown ? decodeMessages(Buffer.from(compaction.wire)) : []),
    // Nobody looks through what is not settled yet.
    newestFirst: () => [],
  };
}
