import { Receipt } from "../contract/gen/quire/v1/assembly.js";
import { QuireError } from "../errors/quire-error.js";
import type { ReceiptStore } from "../storage/assembly/receipt-store.js";
import type { StoredReceipt } from "../storage/assembly/waiting-receipts.js";

export async function findReceipt(
  receipts: ReceiptStore,
  tenantId: string,
  id: string,
): Promise<StoredReceipt> {
  const stored = await receipts.find(tenantId, id);
  if (!stored)
    throw new QuireError("RECEIPT_NOT_FOUND", `there is no receipt ${id}`, { metadata: { assembly_id: id } });
  return stored;
}

/** A receipt as it was given. */
export async function readReceipt(receipts: ReceiptStore, tenantId: string, id: string): Promise<Receipt> {
  return Receipt.decode((await findReceipt(receipts, tenantId, id)).wire);
}

/** Something that a receipt names is gone. */
export function receiptExpired(id: string, what: string): QuireError {
  return new QuireError("RECEIPT_EXPIRED", `${what} is no longer kept`, { metadata: { assembly_id: id } });
}
