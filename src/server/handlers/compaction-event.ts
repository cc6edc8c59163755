import type { CompactionNotice } from "../../assembly/history/compact-history.js";
import { askEngine } from "../../compaction/jobs/ask-engine.js";
import type { CompactionDeps } from "../../compaction/jobs/deps.js";
import type { CompactionEvent } from "../../contract/gen/quire/v1/compaction.js";
import { viewCompaction } from "../../ledger/view-compaction.js";

/** What an assembly says of a compaction, as the contract has it. */
export function compactionEvent(
  { planSeal }: CompactionDeps,
  tenantId: string,
  notice: CompactionNotice,
): CompactionEvent["event"] {
  switch (notice.kind) {
    case "started": {
      const { kind, strategy: compressionStrategy, ...value } = notice;
      return { $case: kind, value: { ...value, compressionStrategy } };
    }
    case "finished":
      return { $case: "finished", value: viewCompaction(notice.row) };
    case "failed":
      return { $case: "failed", value: { reason: notice.reason, failures: [...notice.failures] } };
    case "needed":
      return { $case: "needed", value: askEngine(planSeal, tenantId, notice) };
  }
}
