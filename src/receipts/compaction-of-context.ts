import type { ReceiptDeps } from "./deps.js";
import { readReceipt } from "./find-receipt.js";

/** The compaction that a past context began with; empty where it had none. */
export async function compactionOfContext(
  deps: Pick<ReceiptDeps, "receipts">,
  tenantId: string,
  assemblyId: string,
): Promise<string> {
  const { cut, historyLayer } = await readReceipt(deps.receipts, tenantId, assemblyId);
  return cut?.compactionId ?? historyLayer?.compactionId ?? "";
}
