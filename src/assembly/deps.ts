import type { Catalogue } from "../budget/catalogue.js";
import type { CapsuleReader } from "../capsule/capsule-reader.js";
import type { KnobTable } from "../capsule/knobs.js";
import type { Clock, Ids } from "../domain/clock.js";
import type { ContextSettings } from "../domain/context-settings.js";
import type { LedgerDeps } from "../ledger/deps.js";
import type { Offload } from "../offload/offload.js";
import type { ReceiptStore } from "../storage/assembly/receipt-store.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { OperatorOverride } from "../workspace/operator-override.js";
import type { WorkspaceReader } from "../workspace/workspace-reader.js";
import type { Calibrator } from "./calibrator.js";
import type { Compactor } from "./compaction/compactor.js";
import type { PlanSeal } from "./compaction/plan-seal.js";
import type { RecentReceipts } from "./recent-receipts.js";
import type { SystemCache } from "./system.js";
import type { TemplateSource } from "./templates.js";
import type { ToolsCache } from "./tools.js";

/** What an assembly works with. */
export interface AssemblyDeps {
  readonly ledger: LedgerDeps;
  readonly capsules: CapsuleReader;
  readonly workspaces: WorkspaceReader;
  readonly compactor: Compactor;
  readonly receipts: ReceiptStore;
  readonly recentReceipts: RecentReceipts;
  readonly calibrator: Calibrator;
  readonly planSeal: PlanSeal;
  readonly counter: TokenCounter;
  /** For work that would hold up the event loop. */
  readonly offload: Offload;
  readonly catalogue: Catalogue;
  readonly knobTable: KnobTable;
  readonly override: OperatorOverride;
  readonly templates: TemplateSource;
  readonly systemCache: SystemCache;
  readonly toolsCache: ToolsCache;
  /** The server's own context settings, the weakest. */
  readonly settings: ContextSettings | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
}
