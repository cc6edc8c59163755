import type { ThreadWindow } from "../../ledger/thread-window.js";
import { type Fit, parseFit } from "../../thread/fit.js";
import { parseCutId } from "../../thread/history-cut.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What the context before showed of this thread. */
export interface PinnedTurns {
  /** From the first one that it showed on, oldest first. */
  readonly turns: readonly ShownTurn[];
  /** Its marks; undefined where it had none. */
  readonly fit: Fit | undefined;
}

type Shown = Pick<ThreadWindow, "compaction" | "newestFirst">;

/** Undefined where the context before began with another summary, or with a turn that is not here. */
export function pinnedTurns(
  { pin }: Pick<ResolvedContext, "pin">,
  { compaction, newestFirst }: Shown,
  clean: boolean,
): PinnedTurns | undefined {
  const before = parseCutId(pin?.receipt.historyLayer?.cutId ?? "");
  if (before.compactionId !== (compaction?.id ?? "") || before.clean !== clean) return undefined;
  const first = newestFirst.findIndex(({ stored }) => stored.turnId === before.firstTurnId);
  if (first < 0) return undefined;
  return { turns: newestFirst.slice(0, first + 1).toReversed(), fit: parseFit(before.fittedId) };
}

/** By how much the marks of the context before make a history cheaper that begins with the same summary, as it is counted. */
export function savedByMarks({ pin }: Pick<ResolvedContext, "pin">, compactionId: string): number {
  if (!pin) return 0;
  const before = parseCutId(pin.receipt.historyLayer?.cutId ?? "");
  if (before.compactionId !== compactionId) return 0;
  return parseFit(before.fittedId)?.savedTokens ?? 0;
}
