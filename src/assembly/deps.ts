import type { CompactionDeps } from "../compaction/jobs/deps.js";
import type { ReceiptDeps } from "../receipts/deps.js";
import type { BodyDeps } from "./body/render-context.js";
import type { EventDeps } from "./event/current-message.js";
import type { GatherDeps } from "./gather/gather.js";
import type { CompactHistoryDeps } from "./history/compact-history.js";
import type { ProposeDeps } from "./prefix/propose-prefix.js";
import type { ResolveDeps } from "./resolve/resolve.js";
import type { SystemDeps } from "./system/system.js";
import type { ToolsDeps } from "./tools/tools.js";

/** All that the stages of an assembly work with; each says itself what it needs. */
export interface AssemblyDeps
  extends ReceiptDeps,
    ResolveDeps,
    ToolsDeps,
    SystemDeps,
    ProposeDeps,
    EventDeps,
    GatherDeps,
    CompactHistoryDeps,
    BodyDeps {
  /** For compactions that a caller asks for. */
  readonly compaction: CompactionDeps;
}
