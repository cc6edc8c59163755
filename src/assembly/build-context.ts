import type { ContextRequest } from "../contract/gen/quire/v1/assembly_service.js";
import type { RenderedBody } from "../contract/gen/quire/v1/rendering.js";
import { type BuiltContext, layersWire } from "../receipts/built-context.js";
import { type AssemblyEvent, assemble } from "./assemble.js";
import type { CallLimits } from "./call-limits.js";
import type { AssemblyDeps } from "./deps.js";
import { candidatesOf, type Stages } from "./plan/budget-use.js";

/** The same engine as the stream, folded. */
export async function buildContext(
  deps: AssemblyDeps,
  tenantId: string,
  request: ContextRequest,
  limits: CallLimits = {},
  includeCandidates = false,
): Promise<BuiltContext> {
  const stages: Partial<{ -readonly [Key in keyof Stages]: Stages[Key] }> = {};
  let completed: Extract<AssemblyEvent, { kind: "completed" }> | undefined;
  let rendered: RenderedBody | undefined;
  for await (const event of assemble(deps, tenantId, { ...request, have: undefined }, limits)) {
    if (event.kind === "tools") stages.tools = event.tools;
    else if (event.kind === "system") stages.system = event.system;
    else if (event.kind === "history") stages.history = event.history;
    else if (event.kind === "current") stages.current = event.current;
    else if (event.kind === "rendered") rendered = event.rendered;
    else if (event.kind === "completed") completed = event;
    if (event.kind === "current") stages.gathered = event.gathered;
  }
  const { tools, system, history } = stages;
  const { context, contextWire, sessionId, use, cache } = completed!;
  return {
    history: request.bodyOnly ? [] : history!.allPieces(),
    rest: {
      ...context,
      systemPrompt: system!.text,
      leadMessages: [...system!.lead.messages],
      tools: tools!.tools,
      sessionId,
      floors: use.floors,
      cachePlan: cache.plan,
      prefix: cache.prefix,
      candidates: includeCandidates ? candidatesOf(stages as Stages) : [],
    },
    contextWire,
    layersWire: layersWire(system!.bytes, tools!.contextWire),
    rendered,
  };
}
