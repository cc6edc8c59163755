import type { ModelCall } from "../domain/turn.js";
import { type Warning, WarningKind, warning } from "../domain/warning.js";
import { QuireError } from "../errors/quire-error.js";
import type { ReceiptDeps } from "./deps.js";

/**
 * Refuses model calls that name an assembly of another session than their turn's. One whose receipt is gone is let through, with
 * a warning, as it is where a turn names it.
 */
export async function checkCalls(
  deps: Pick<ReceiptDeps, "receipts">,
  tenantId: string,
  sessionId: string,
  calls: readonly ModelCall[],
): Promise<readonly Warning[]> {
  const ids = [...new Set(calls.flatMap(({ assemblyId }) => assemblyId || []))];
  if (ids.length === 0) return [];
  const owners = await deps.receipts.sessionsOf(tenantId, ids);
  for (const [index, { assemblyId }] of calls.entries()) {
    const owner = assemblyId && owners.get(assemblyId);
    if (owner && owner !== sessionId) {
      const field = `result.model_calls[${index}].assembly_id`;
      throw QuireError.field("INVALID_FIELD", field, "is an assembly of another session");
    }
  }
  const lost = ids.filter((id) => !owners.has(id));
  if (lost.length === 0) return [];
  const more = lost.length > 1 ? ` and ${lost.length - 1} more` : "";
  const detail = `model calls name assemblies that are not known, or no longer: ${lost[0]}${more}`;
  return [warning(WarningKind.ASSEMBLY_UNKNOWN, detail)];
}
