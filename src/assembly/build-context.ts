import { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import type { ContextRequest } from "../contract/gen/quire/v1/assembly_service.js";
import type { RenderedBody } from "../contract/gen/quire/v1/rendering.js";
import { type AssemblyEvent, assemble, type CallLimits } from "./assemble.js";
import { candidatesOf, type Stages } from "./budget-use.js";
import type { AssemblyDeps } from "./deps.js";

/** A whole context: its history as stored bytes (`history` of an AssembledContext), and everything else. */
export interface BuiltContext {
  readonly history: readonly Buffer[];
  readonly rest: AssembledContext;
  /** The rest in wire form, without its system prompt and its tools, as receipts keep it. */
  readonly contextWire: Buffer;
  /** The provider's request body, if it was asked for. */
  readonly rendered: RenderedBody | undefined;
}

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
  }
  const { tools, system, history } = stages;
  const { context, contextWire, sessionId, use, cache } = completed!;
  return {
    history: history!.allPieces(),
    rest: {
      ...context,
      systemPrompt: system!.text,
      tools: tools!.tools,
      sessionId,
      floors: use.floors,
      cachePlan: cache.plan,
      prefix: cache.prefix,
      candidates: includeCandidates ? candidatesOf(stages as Stages) : [],
    },
    contextWire,
    rendered,
  };
}

const emptyContext = AssembledContext.create();

/** The context in wire form: only what receipts keep apart is encoded, the rest is there already. */
export function contextPieces({ history, contextWire, rest }: BuiltContext): Buffer[] {
  const { systemPrompt, tools, sessionId, floors, cachePlan, prefix, candidates } = rest;
  const apart = { systemPrompt, tools, sessionId, floors, cachePlan, prefix, candidates };
  const layers = AssembledContext.encode({ ...emptyContext, ...apart }).finish();
  return [...history, contextWire, Buffer.from(layers)];
}
