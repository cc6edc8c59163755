import type { Clock, Ids, Timers } from "../../domain/clock.js";
import type { ContextSettings } from "../../domain/context-settings.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import type { Calibrator } from "../../models/calibrator.js";
import type { Offload } from "../../offload/offload.js";
import type { RecentReceipts } from "../../receipts/recent-receipts.js";
import type { ReceiptStore } from "../../storage/assembly/receipt-store.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { TemplateSource } from "../../workspace/templates.js";
import type { SummarizerSet } from "../summarizers/summarizer-set.js";
import type { PlanSeal } from "./plan-seal.js";

/** What compactions are made with. */
export interface CompactorDeps {
  readonly ledger: LedgerDeps;
  readonly summarizers: SummarizerSet;
  readonly templates: TemplateSource;
  readonly counter: TokenCounter;
  readonly recentReceipts: RecentReceipts;
  /** For work that would hold up the event loop. */
  readonly offload: Offload;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
}

/** The same for compactions that a caller asks for. */
export interface CompactionDeps extends CompactorDeps {
  readonly receipts: ReceiptStore;
  readonly planSeal: PlanSeal;
  readonly calibrator: Calibrator;
  /** The server's own context settings. */
  readonly settings: ContextSettings | undefined;
}
