import { type ModelCall, type Turn, TurnStatus } from "../domain/turn.js";
import type { Calibrator } from "../models/calibrator.js";
import { type Catalogue, findModel } from "../models/catalogue.js";
import { readFacts } from "../thread/turn-facts.js";
import type { ReceiptDeps } from "./deps.js";
import type { ReceiptCore } from "./recent-receipts.js";

export interface LearningDeps extends ReceiptDeps {
  readonly calibrator: Calibrator;
  readonly catalogue: Catalogue;
}

/**
 * Takes what providers charged for the model calls that a write reported as evidence for the ratio of tokens. A call that names its
 * assembly may teach, and so may the only call of a turn that does.
 */
export async function learnUsage(
  deps: LearningDeps,
  tenantId: string,
  turn: Turn,
  calls: readonly ModelCall[],
): Promise<void> {
  if (turn.status === TurnStatus.FAILED) return;
  const isOnly = turn.modelCallCount === 1;
  const known = calls.flatMap((call) => {
    const assemblyId = call.assemblyId || (isOnly ? turn.assemblyId : "");
    return assemblyId && call.usage?.inputTokens ? [{ ...call, assemblyId }] : [];
  });
  if (known.length === 0 || !(await isEachReported(deps, tenantId, turn))) return;
  for (const { assemblyId, usage, model } of known) {
    const receipt = await deps.recentReceipts.find(tenantId, assemblyId);
    const countedTokens = receipt?.budget?.countedTokens ?? 0;
    if (!receipt || countedTokens === 0 || !isFor(deps, receipt, model)) continue;
    deps.calibrator.observe(tenantId, receipt.model, { countedTokens, inputTokens: usage!.inputTokens });
  }
}

/** The sum over several requests says nothing about any one context: every answer of the turn must have been reported by itself. */
async function isEachReported(deps: LearningDeps, tenantId: string, turn: Turn): Promise<boolean> {
  const { messages } = readFacts(await deps.ledger.threads.findIndexes(tenantId, turn.id));
  const answers = messages.slice(0, turn.messageCount).filter(({ role }) => role === "A");
  return answers.length === turn.modelCallCount;
}

/** Whether the call went to the model that the context was made for. */
function isFor({ catalogue }: LearningDeps, receipt: ReceiptCore, model: string): boolean {
  return model === "" || findModel(catalogue, model).name === findModel(catalogue, receipt.model).name;
}
