import { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import type { ContextRequest } from "../contract/gen/quire/v1/assembly_service.js";
import type { RenderedBody } from "../contract/gen/quire/v1/rendering.js";
import { type ContextUse, contextUse } from "./budget-use.js";
import { type CompactionNotice, compactHistory, readHistory } from "./compact-history.js";
import { contextMessage } from "./context-message.js";
import { buildCurrent, type CurrentStage } from "./current-message.js";
import type { AssemblyDeps } from "./deps.js";
import { buildHistory, type HistoryStage } from "./history.js";
import { type ContextPlan, plan } from "./plan.js";
import { type CacheStage, planCaching } from "./plan-caching.js";
import { settlePrefix } from "./prefix/settle-prefix.js";
import { keepReceipt } from "./receipt.js";
import { renderStages } from "./render-context.js";
import { type ResolvedContext, resolve } from "./resolve.js";
import { requireLane } from "./strict.js";
import { buildSystem, type SystemStage } from "./system.js";
import { selectTools, type ToolsStage } from "./tools.js";

/** What an assembly gives, as it becomes ready. What was given is final. */
export type AssemblyEvent =
  | { readonly kind: "resolved"; readonly resolved: ResolvedContext; readonly plan: ContextPlan }
  | { readonly kind: "tools"; readonly tools: ToolsStage }
  | { readonly kind: "system"; readonly system: SystemStage }
  | { readonly kind: "compaction"; readonly notice: CompactionNotice }
  | { readonly kind: "history"; readonly history: HistoryStage }
  | { readonly kind: "current"; readonly current: CurrentStage }
  | { readonly kind: "rendered"; readonly rendered: RenderedBody }
  | {
      readonly kind: "completed";
      readonly sessionId: string;
      readonly use: ContextUse;
      readonly cache: CacheStage;
      readonly context: AssembledContext;
      readonly contextWire: Buffer;
    };

/** When to stop, and until when to be done. */
export interface CallLimits {
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs?: number | undefined;
}

/** The pipeline: resolve, plan, tools, system, event, compaction, history, cache plan, body, receipt. */
export async function* assemble(
  deps: AssemblyDeps,
  tenantId: string,
  request: ContextRequest,
  limits: CallLimits = {},
): AsyncGenerator<AssemblyEvent> {
  const { signal } = limits;
  const resolved = await resolve(deps, tenantId, request);
  const planned = plan(resolved);
  yield { kind: "resolved", resolved, plan: planned };

  const tools = await selectTools(deps, resolved, planned);
  requireLane(resolved, planned, "tools", tools.tokens);
  yield { kind: "tools", tools };

  const live = await buildSystem(deps, resolved, planned, tools);
  requireLane(resolved, planned, "system", live.tokens);
  const prefix = await settlePrefix(deps, resolved, planned, tools, live, signal);
  const { system } = prefix;
  yield { kind: "system", system };
  signal?.throwIfAborted();

  // The event is counted before the cut, so that the cut never has to be taken back.
  const current = await buildCurrent(deps, resolved, planned, prefix.updates, system.injected);
  requireLane(resolved, planned, "buffer", current.tokens);
  const others = { system: system.tokens, tools: tools.tokens, event: current.tokens };
  const state = await readHistory(deps, resolved, planned, others, signal, prefix.cause !== undefined);
  const compacting = compactHistory(deps, resolved, state, limits);
  let step = await compacting.next();
  for (; !step.done; step = await compacting.next()) yield { kind: "compaction", notice: step.value };
  const history = await buildHistory(deps, resolved, planned, others, step.value);
  signal?.throwIfAborted();
  yield { kind: "history", history };
  yield { kind: "current", current };

  const stages = { tools, system, history, current };
  const use = contextUse(resolved, planned, stages);
  const cache = await planCaching(deps, resolved, stages, prefix);
  const context = contextMessage(resolved, stages, use);
  const rendered = await renderStages(deps, resolved, stages, context, cache, signal);
  if (rendered) yield { kind: "rendered", rendered };
  const contextWire = Buffer.from(AssembledContext.encode(context).finish());
  if (!request.dryRun) await keepReceipt(deps, resolved, stages, use, cache, contextWire);
  yield { kind: "completed", sessionId: resolved.session.id, use, cache, context, contextWire };
}
