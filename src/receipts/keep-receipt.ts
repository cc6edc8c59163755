import type { Receipt } from "../contract/gen/quire/v1/assembly.js";
import { toMicroseconds } from "../domain/clock.js";
import type { ReceiptDeps } from "./deps.js";
import { coreWire, type ReceiptLists, receiptWire } from "./receipt-wire.js";

/** What is stored with a receipt: the context without its large layers, and those layers by their hashes. */
export interface ReceiptLayers {
  readonly contextWire: Buffer;
  readonly system: Layer;
  readonly tools: Layer;
  readonly templates: Layer;
}

interface Layer {
  readonly hash: Buffer;
  readonly bytes: Buffer;
}

/** Writes a receipt, which is given without its lists. It survives the end of the process once this has resolved. */
export async function keepReceipt(
  deps: Pick<ReceiptDeps, "receipts" | "recentReceipts">,
  tenantId: string,
  receipt: Receipt,
  lists: ReceiptLists,
  { contextWire, system, tools, templates }: ReceiptLayers,
): Promise<void> {
  const core = coreWire(receipt, lists.sections);
  deps.recentReceipts.keep(tenantId, receipt, core);
  await deps.receipts.add(
    {
      tenantId,
      id: receipt.assemblyId,
      sessionId: receipt.sessionId,
      wire: receiptWire(receipt, core, lists),
      contextWire,
      systemHash: system.hash,
      toolsHash: tools.hash,
      templatesHash: templates.hash,
      createdUs: toMicroseconds(receipt.createTime!.getTime()),
    },
    [system.bytes, tools.bytes, templates.bytes],
  );
}
