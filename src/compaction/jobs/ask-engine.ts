import type { CompactionTrigger } from "../../domain/compaction.js";
import type { JobOutcome } from "./job.js";
import type { PlanSeal, SealedPlan } from "./plan-seal.js";

/** What the engine's own model is asked for. */
export interface AskedEngine extends Pick<Extract<JobOutcome, { kind: "needed" }>, "plan" | "prompt"> {
  readonly sessionId: string;
  readonly previousId: string;
  readonly trigger: CompactionTrigger;
  /** Of the job, so that the summary is held as one for it. */
  readonly goal: string;
}

/** The request to the engine, as the contract has it. */
export interface EngineRequest {
  readonly planToken: string;
  readonly plan: SealedPlan | undefined;
  readonly systemPrompt: string;
  readonly prompt: string;
}

export function askEngine(
  planSeal: PlanSeal,
  tenantId: string,
  { prompt, previousId, trigger, sessionId, goal, plan: folded }: AskedEngine,
): EngineRequest {
  const plan = { ...folded, previousCompactionId: previousId, trigger, goal };
  return {
    planToken: planSeal.seal(tenantId, sessionId, plan),
    plan,
    systemPrompt: prompt.system,
    prompt: prompt.user,
  };
}
