import { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import { type Message, MessageRole } from "../domain/message.js";
import { QuireError } from "../errors/quire-error.js";
import type { AnsweredAssembly } from "../ledger/turn-draft.js";
import type { AssemblyDeps } from "./deps.js";
import { findReceipt } from "./replay.js";

/** What an assembly adds to the turn that names it. */
export interface AttachedContext {
  readonly messages: readonly Message[];
  readonly assembly: AnsweredAssembly;
}

/**
 * Puts what an assembly sent before the user's content onto the turn's first USER message, so that history can be
 * replayed as it was sent. A message that carries context already keeps its own.
 */
export async function attachContext(
  deps: AssemblyDeps,
  tenantId: string,
  turn: { readonly session: string; readonly assemblyId: string; readonly messages: readonly Message[] },
): Promise<AttachedContext> {
  const stored = await findReceipt(deps, tenantId, turn.assemblyId);
  const head = await deps.ledger.threads.findHead(tenantId, turn.session);
  if (head && head.session.id !== stored.sessionId) {
    throw QuireError.field("INVALID_FIELD", "assembly_id", "is an assembly of another session");
  }
  const { messages } = turn;
  const { currentMessage: sent, model, role } = AssembledContext.decode(stored.contextWire);
  const assembly = { assemblyId: turn.assemblyId, model, role };
  const index = messages.findIndex((message) => message.role === MessageRole.USER);
  const target = messages[index];
  if (!sent || !target || target.contextParts.length > 0) return { messages, assembly };
  const { contextParts, contextJson } = sent;
  return { messages: messages.with(index, { ...target, contextParts, contextJson }), assembly };
}
