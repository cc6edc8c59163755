import type { OpenItem } from "../domain/turn.js";
import type { TurnRow } from "../storage/ledger/rows.js";
import { openCallIds } from "../thread/open-items.js";
import { OpenState } from "../thread/open-state.js";
import type { TurnFacts } from "../thread/turn-facts.js";
import type { LedgerDeps } from "./deps.js";

/** The calls that a turn leaves open. */
export function openCallsOf(turn: Pick<TurnRow, "openStateJson">): readonly string[] {
  return openCallIds(OpenState.parse(turn.openStateJson).open);
}

/** The calls of the turn before that a turn gave up. */
export function abandonedBy(turn: Pick<TurnRow, "abandonedItemsJson">): readonly string[] {
  return openCallIds(JSON.parse(turn.abandonedItemsJson) as OpenItem[]);
}

/** The same for a turn of which only the facts are known: most could not have given up any. */
export async function givenUpBy(
  ledger: LedgerDeps,
  tenantId: string,
  turnId: string,
  facts: TurnFacts,
): Promise<readonly string[]> {
  if (!facts.mayAbandon) return [];
  const row = await ledger.threads.findTurn(tenantId, turnId);
  return row ? abandonedBy(row) : [];
}
