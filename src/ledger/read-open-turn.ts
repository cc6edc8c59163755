import type { StoredTurn } from "../domain/stored-turn.js";
import { countedFacts, type TurnFacts } from "../thread/turn-facts.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import type { LedgerDeps } from "./deps.js";

/** An open turn as it was when it had so many messages; what was appended since is left out. */
export async function readOpenTurn(
  ledger: LedgerDeps,
  tenantId: string,
  turn: { readonly id: string; readonly messageCount: number },
  depth: number,
  vocabulary: Vocabulary,
): Promise<{ readonly stored: StoredTurn; readonly facts: TurnFacts }> {
  const rows = await ledger.threads.findMessages(tenantId, turn.id);
  const then = rows.filter((row) => row.firstIndex < turn.messageCount);
  const wires = then.map((row) => Buffer.from(row.wire));
  const indexes = then.map((row) => row.indexJson);
  const stored = { turnId: turn.id, depth, wires, indexes };
  return { stored, facts: await countedFacts(ledger.counter, stored, vocabulary) };
}
