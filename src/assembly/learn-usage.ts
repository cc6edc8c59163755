import { type Turn, TurnStatus } from "../domain/turn.js";
import type { AssemblyDeps } from "./deps.js";
import { readFacts } from "./turn-facts.js";

/** Takes what a provider charged for a turn as evidence for the model's token ratio. */
export async function learnUsage(deps: AssemblyDeps, tenantId: string, turn: Turn): Promise<void> {
  const { usage, assemblyId, status } = turn;
  if (!usage || usage.inputTokens === 0 || assemblyId === "" || status === TurnStatus.FAILED) return;
  const receipt = await deps.recentReceipts.find(tenantId, assemblyId);
  const countedTokens = receipt?.budget?.countedTokens ?? 0;
  if (!receipt || countedTokens === 0) return;
  const rows = await deps.ledger.threads.findMessages(tenantId, turn.id);
  const { messages } = readFacts(rows.map((row) => row.indexJson));
  // The sum over several requests says nothing about any one context.
  if (messages.filter(({ role }) => role === "A").length !== 1) return;
  deps.calibrator.observe(tenantId, receipt.model, { countedTokens, inputTokens: usage.inputTokens });
}
