import type { AssemblyDeps } from "./deps.js";

/** Drops what is kept in memory of a session that was deleted. */
export function forgetSession(deps: AssemblyDeps, tenantId: string, sessionId: string): void {
  deps.receipts.dropSession(tenantId, sessionId);
  deps.recentReceipts.dropSession(tenantId, sessionId);
}
