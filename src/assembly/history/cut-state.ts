import { historyGoal } from "../../compaction/jobs/wanted.js";
import { type CutState, HistoryReplay } from "../../contract/gen/quire/v1/assembly.js";
import type { ThreadWindow } from "../../ledger/thread-window.js";
import type { ContextPlan } from "../plan/plan.js";
import { pinKey } from "../resolve/pin.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { isClean, type OtherTokens, otherTokens } from "./history.js";
import type { HistoryState } from "./read-history.js";

/** What of a resolved request it needs. */
export type CutStateInput = Pick<ResolvedContext, "capsule" | "modelName" | "pin" | "request" | "role">;

/** What the receipt says of the cut, for the contexts after this one. */
export function cutState(
  resolved: CutStateInput,
  { memoryReserve }: ContextPlan,
  others: OtherTokens,
  { wanted, roomTokens }: HistoryState,
  { compaction }: ThreadWindow,
): CutState {
  const before = resolved.pin?.receipt.cut;
  const compactionId = compaction?.id ?? "";
  const stays = before !== undefined && before.compactionId === compactionId;
  return {
    maxContextTokens: pinKey(resolved).limitTokens,
    replay: isClean(resolved) ? HistoryReplay.CLEAN : HistoryReplay.AS_SENT,
    memoryReserve,
    otherTokens: stays ? before.otherTokens : otherTokens(others),
    roomTokens: stays ? before.roomTokens : Math.max(0, roomTokens),
    wanted: wanted && historyGoal(wanted),
    compactionId,
  };
}
