import type { LedgerDeps } from "../ledger/deps.js";
import type { ReceiptStore } from "../storage/assembly/receipt-store.js";
import type { RecentReceipts } from "./recent-receipts.js";

/** What past contexts are told from. */
export interface ReceiptDeps {
  readonly ledger: LedgerDeps;
  readonly receipts: ReceiptStore;
  readonly recentReceipts: RecentReceipts;
}
