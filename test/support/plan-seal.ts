import { join } from "node:path";
import { PlanSeal } from "../../src/compaction/jobs/plan-seal.js";
import { openDatabase } from "../../src/storage/driver/database-sync.js";

/** What the servers of this folder's database seal plans with, for plans that none of them would make. */
export function planSealOf(folder: string): PlanSeal {
  const database = openDatabase(join(folder, "quire.db"));
  try {
    const [row] = database.prepare("SELECT value FROM shared_secrets WHERE name = 'compaction plans'").all();
    return new PlanSeal(Buffer.from((row as { readonly value: Uint8Array }).value));
  } finally {
    database.close();
  }
}
