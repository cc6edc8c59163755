import type { AssemblyDeps } from "../../assembly/deps.js";
import type { ModelCall, Turn } from "../../domain/turn.js";
import type { RecordedTurn } from "../../ledger/record-turn.js";
import { learnUsage } from "../../receipts/learn-usage.js";

/** What a finished turn sets off: a compaction may be due soon, and what its model calls cost teaches how their models count. Nobody waits for it. */
export function afterTurn(
  assembly: AssemblyDeps,
  tenantId: string,
  answer: RecordedTurn,
  calls: readonly ModelCall[],
): RecordedTurn {
  assembly.compactor.afterTurn(tenantId, answer.turn!.sessionId);
  afterCalls(assembly, tenantId, answer.turn!, calls);
  return answer;
}

/** The same for model calls of a turn that goes on. */
export function afterCalls(
  assembly: AssemblyDeps,
  tenantId: string,
  turn: Turn,
  calls: readonly ModelCall[],
): void {
  if (calls.length > 0) learnUsage(assembly, tenantId, turn, calls).catch(() => undefined);
}
