import { AssembledContext } from "../contract/gen/quire/v1/assembly.js";
import { type Message, MessageRole } from "../domain/message.js";
import { QuireError } from "../errors/quire-error.js";
import type { AssemblyDeps } from "./deps.js";
import { findReceipt } from "./replay.js";

/**
 * Puts what an assembly sent before the user's content onto the turn's first USER message, so that history can be
 * replayed as it was sent. A message that carries context already keeps its own.
 */
export async function attachContext(
  deps: AssemblyDeps,
  tenantId: string,
  turn: { readonly session: string; readonly assemblyId: string; readonly messages: readonly Message[] },
): Promise<readonly Message[]> {
  const stored = await findReceipt(deps, tenantId, turn.assemblyId);
  const head = await deps.ledger.threads.findHead(tenantId, turn.session);
  if (head && head.session.id !== stored.sessionId) {
    throw QuireError.field("INVALID_FIELD", "assembly_id", "is an assembly of another session");
  }
  const { messages } = turn;
  const sent = AssembledContext.decode(stored.contextWire).currentMessage;
  const index = messages.findIndex((message) => message.role === MessageRole.USER);
  const target = messages[index];
  if (!sent || !target || target.contextParts.length > 0) return messages;
  return messages.with(index, { ...target, contextParts: sent.contextParts, contextJson: sent.contextJson });
}
