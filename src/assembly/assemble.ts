import type { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import type { ContextRequest } from "../contract/gen/quire/v1/assembly_service.js";
import type { RenderedBody } from "../contract/gen/quire/v1/rendering.js";
import type { SourceReport } from "../contract/gen/quire/v1/source.js";
import { contextMessage, encodedContext } from "./body/context-message.js";
import { renderStages } from "./body/render-context.js";
import { type CacheStage, planCaching } from "./cache/plan-caching.js";
import type { CallLimits } from "./call-limits.js";
import type { AssemblyDeps } from "./deps.js";
import { buildCurrent, type CurrentStage } from "./event/current-message.js";
import { type FittedSources, fitSources } from "./gather/fit-sources.js";
import { gatherAhead, gatherRest, startGathering } from "./gather/gather.js";
import { type GatherStage, notGathering, nothingGathered } from "./gather/gathered.js";
import { type CompactionNotice, compactHistory } from "./history/compact-history.js";
import { cutState } from "./history/cut-state.js";
import { buildHistory, type HistoryStage } from "./history/history.js";
import { readHistory } from "./history/read-history.js";
import { tryHistory } from "./history/try-history.js";
import { type ContextUse, contextUse } from "./plan/budget-use.js";
import { type ContextPlan, plan } from "./plan/plan.js";
import { requireLane } from "./plan/strict.js";
import { isSamePrefix } from "./prefix/prefix.js";
import { proposePrefix } from "./prefix/propose-prefix.js";
import { settlePrefix } from "./prefix/settle-prefix.js";
import { writeReceipt } from "./receipt.js";
import { type ResolvedContext, resolve } from "./resolve/resolve.js";
import { buildSystem, type SystemStage } from "./system/system.js";
import { selectTools, type ToolsStage } from "./tools/tools.js";

/** What an assembly gives, as it becomes ready. What was given is final. */
export type AssemblyEvent =
  | { readonly kind: "resolved"; readonly resolved: ResolvedContext; readonly plan: ContextPlan }
  | { readonly kind: "tools"; readonly tools: ToolsStage }
  | { readonly kind: "system"; readonly system: SystemStage }
  | { readonly kind: "compaction"; readonly notice: CompactionNotice }
  | { readonly kind: "history"; readonly history: HistoryStage }
  | { readonly kind: "source"; readonly report: SourceReport }
  | { readonly kind: "current"; readonly current: CurrentStage; readonly gathered: GatherStage }
  | { readonly kind: "rendered"; readonly rendered: RenderedBody }
  | {
      readonly kind: "completed";
      readonly sessionId: string;
      readonly use: ContextUse;
      readonly cache: CacheStage;
      readonly context: AssembledContext;
      readonly contextWire: Buffer;
    };

/** The pipeline: resolve, plan, tools, system, prefix, event, history (compacted if it must be), gather, fit, cache plan, body, receipt. */
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
  // Sources are at work while everything else is made.
  const started = startGathering(deps, resolved, planned, limits);

  const selecting = selectTools(deps, resolved, planned);
  const tools = selecting instanceof Promise ? await selecting : selecting;
  requireLane(resolved, planned, "tools", tools.tokens);
  yield { kind: "tools", tools };

  const { ahead, gathering } = started ? await gatherAhead(deps, resolved, started, limits) : notGathering;
  const building = buildSystem(deps, resolved, planned, tools, ahead);
  const live = building instanceof Promise ? await building : building;
  requireLane(resolved, planned, "system", live.tokens);
  const proposing = proposePrefix(deps, resolved, tools, live, signal);
  const proposed = proposing instanceof Promise ? await proposing : proposing;
  // Whether an earlier system prompt can stay is known when history has been tried beside it.
  const { carried, rewritten } = proposed;
  const trial = carried && (await tryHistory(deps, resolved, planned, tools, carried, signal));
  const { prefix, kept } = trial
    ? await settlePrefix(deps.counter, resolved, carried, trial)
    : { prefix: rewritten!, kept: undefined };
  const { system } = prefix;
  yield { kind: "system", system };
  signal?.throwIfAborted();

  // The event is counted before the cut, so that the cut never has to be taken back.
  const telling = kept?.current ?? buildCurrent(deps, resolved, planned, prefix.updates, system.injected);
  const bare = telling instanceof Promise ? await telling : telling;
  requireLane(resolved, planned, "buffer", bare.tokens);
  const others = { system: system.tokens, tools: tools.tokens, event: bare.tokens };
  const isRewritten = !isSamePrefix(resolved, tools, system);
  const state = kept?.state ?? (await readHistory(deps, resolved, planned, others, signal, isRewritten));
  let { window } = state;
  if (state.job) {
    const compacting = compactHistory(deps, resolved, state, state.job, limits);
    let step = await compacting.next();
    for (; !step.done; step = await compacting.next()) yield { kind: "compaction", notice: step.value };
    window = step.value;
  }
  const history = kept?.history ?? (await buildHistory(deps, resolved, planned, others, window));
  const cut = cutState(resolved, planned, others, state, window);
  signal?.throwIfAborted();
  yield { kind: "history", history };

  let fitted: FittedSources = { current: bare, gathered: nothingGathered };
  if (gathering) {
    const asking = gatherRest(deps, resolved, gathering, history, limits);
    let asked = await asking.next();
    for (; !asked.done; asked = await asking.next()) yield { kind: "source", report: asked.value };
    signal?.throwIfAborted();
    fitted = await fitSources(deps, resolved, planned, others, history, bare, asked.value, system);
  }
  const { current, gathered } = fitted;
  yield { kind: "current", current, gathered };

  const stages = { tools, system, history, current, gathered };
  const used = contextUse(resolved, planned, stages);
  const cache = await planCaching(deps, resolved, stages, prefix, cut);
  const made = contextMessage(resolved, stages, used);
  const rendering = renderStages(deps, resolved, stages, made, used, cache, signal);
  const { rendered, context, use } = rendering instanceof Promise ? await rendering : rendering;
  if (rendered) yield { kind: "rendered", rendered };
  const contextWire = encodedContext(context, current.wire, system.sections);
  if (!request.dryRun) await writeReceipt(deps, resolved, stages, use, cache, cut, contextWire);
  yield { kind: "completed", sessionId: resolved.session.id, use, cache, context, contextWire };
}
