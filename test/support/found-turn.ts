import type { CompactionTurn } from "../../src/contract/gen/quire/v1/compaction.js";
import type { GetTurnResponse, RecordedTurn } from "../../src/contract/gen/quire/v1/ledger_service.js";

/** The turn that GetTurn found, with its messages; an error if it found none. */
export function recordedTurn({ found }: GetTurnResponse): RecordedTurn {
  if (found?.$case !== "recorded") throw new Error(`GetTurn found ${found?.$case ?? "nothing"}, not a turn`);
  return found.value;
}

/** The compaction that GetTurn found; an error if it found none. */
export function foundCompaction({ found }: GetTurnResponse): CompactionTurn {
  if (found?.$case !== "compaction")
    throw new Error(`GetTurn found ${found?.$case ?? "nothing"}, not a compaction`);
  return found.value;
}
