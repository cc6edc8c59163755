import { AssembledContext } from "../../contract/gen/quire/v1/assembly.js";
import { readDefaults } from "../../ledger/session-defaults.js";
import type { ReceiptDeps } from "../../receipts/deps.js";
import type { SessionMemory } from "../../storage/ledger/rows.js";

export type ParentDeps = Pick<ReceiptDeps, "ledger" | "receipts">;

/**
 * The capsule that a sub-agent inherits: that of the assembly which its parent turn answers, else the one that the parent session
 * remembers, else that of the parent session's newest assembly. Undefined where none of them knows one.
 */
export async function capsuleOfParent(
  deps: ParentDeps,
  tenantId: string,
  { parentSessionId, parentTurnId }: Pick<SessionMemory, "parentSessionId" | "parentTurnId">,
): Promise<string | undefined> {
  if (!parentSessionId) return undefined;
  const turn = parentTurnId ? await deps.ledger.threads.findTurn(tenantId, parentTurnId) : undefined;
  const spawning = turn?.assemblyId ? await capsuleOf(deps, tenantId, turn.assemblyId) : undefined;
  if (spawning) return spawning;
  const parent = await deps.ledger.sessions.find(tenantId, parentSessionId);
  const remembered = parent && readDefaults(parent.row)?.capsule;
  if (remembered) return remembered;
  const newest = await deps.receipts.newestOf(tenantId, parentSessionId);
  return newest && capsuleOf(deps, tenantId, newest);
}

async function capsuleOf(
  deps: ParentDeps,
  tenantId: string,
  assemblyId: string,
): Promise<string | undefined> {
  const stored = await deps.receipts.find(tenantId, assemblyId);
  return stored && AssembledContext.decode(stored.contextWire).capsule;
}
