import { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import type { ContextRequest } from "../contract/gen/quire/v1/assembly_service.js";
import { decodeMessages } from "../ledger/message-codec.js";
import { assemble } from "./assemble.js";
import type { Stages } from "./budget-use.js";
import type { AssemblyDeps } from "./deps.js";

/** A whole context: its history as stored bytes (`history` of an AssembledContext), and everything else. */
export interface BuiltContext {
  readonly history: readonly Buffer[];
  readonly rest: AssembledContext;
}

/** The same engine as the stream, folded. */
export async function buildContext(
  deps: AssemblyDeps,
  tenantId: string,
  request: ContextRequest,
  signal?: AbortSignal,
): Promise<BuiltContext> {
  const stages: Partial<{ -readonly [Key in keyof Stages]: Stages[Key] }> = {};
  let context: AssembledContext | undefined;
  for await (const event of assemble(deps, tenantId, { ...request, have: undefined }, signal)) {
    if (event.kind === "tools") stages.tools = event.tools;
    else if (event.kind === "system") stages.system = event.system;
    else if (event.kind === "history") stages.history = event.history;
    else if (event.kind === "completed") context = event.context;
  }
  const { tools, system, history } = stages;
  return {
    history: history!.allPieces(),
    rest: { ...context!, systemPrompt: system!.text, tools: tools!.tools.map((tool) => ({ ...tool })) },
  };
}

/** The context with its history decoded, for callers in the same process. */
export function unfold(built: BuiltContext): AssembledContext {
  return { ...built.rest, history: built.history.flatMap((piece) => decodeMessages(piece)) };
}

/** The context in wire form: the history is copied, not encoded. */
export function contextPieces(built: BuiltContext): Buffer[] {
  return [...built.history, Buffer.from(AssembledContext.encode(built.rest).finish())];
}
