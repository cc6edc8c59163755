import { AssembledContext, HistoryReplay } from "../contract/gen/quire/v1/assembly.js";
import { type Message, MessageRole } from "../domain/message.js";
import { type Warning, WarningKind, warning } from "../domain/warning.js";
import { QuireError } from "../errors/quire-error.js";
import type { AnsweredAssembly } from "../ledger/turn-draft.js";
import type { ReceiptDeps } from "./deps.js";

/** What an assembly adds to the turn that names it. */
export interface AttachedContext {
  readonly messages: readonly Message[];
  readonly assembly: AnsweredAssembly | undefined;
  /** The context, without its history, system prompt and tools. */
  readonly sent: AssembledContext | undefined;
  readonly warnings: readonly Warning[];
}

/**
 * Puts what an assembly sent before the user's content onto the turn's first USER message, so that history can be
 * replayed as it was sent. A message that carries context already keeps its own. An assembly whose receipt is gone adds nothing: what
 * was said counts for more than the record of what it answered.
 */
export async function attachContext(
  deps: ReceiptDeps,
  tenantId: string,
  turn: { readonly session: string; readonly assemblyId: string; readonly messages: readonly Message[] },
): Promise<AttachedContext> {
  const { messages, assemblyId } = turn;
  const stored = await deps.receipts.find(tenantId, assemblyId);
  if (!stored) {
    const detail = `the assembly ${assemblyId} is not known, or no longer: nothing was taken from it`;
    const warnings = [warning(WarningKind.ASSEMBLY_UNKNOWN, detail)];
    return { messages, assembly: undefined, sent: undefined, warnings };
  }
  const head = await deps.ledger.threads.findHead(tenantId, turn.session);
  if (head && head.session.id !== stored.sessionId) {
    throw QuireError.field("INVALID_FIELD", "assembly_id", "is an assembly of another session");
  }
  const sent = AssembledContext.decode(stored.contextWire);
  const { currentMessage } = sent;
  // What is told in a tool loop belongs to the answer, wherever that comes from.
  const isTold = currentMessage?.parts.length === 0;
  const cut = (await deps.recentReceipts.find(tenantId, assemblyId))?.cut;
  const attached = {
    sent,
    assembly: {
      assemblyId,
      model: sent.model,
      provider: sent.provider,
      role: sent.role,
      parentTurnId: sent.parentTurnId,
      replay: cut?.replay === HistoryReplay.CLEAN ? ("clean" as const) : ("as_sent" as const),
      limitTokens: cut?.maxContextTokens ?? 0,
      compactionId: cut?.compactionId ?? "",
      activeTurnId: sent.historyLayer?.activeTurnId ?? "",
      activeMessages: sent.historyLayer?.activeMessageCount ?? 0,
      told: isTold ? currentMessage.contextParts : [],
    },
    warnings: [],
  };
  const index = messages.findIndex((message) => message.role === MessageRole.USER);
  const target = messages[index];
  if (!currentMessage || isTold || !target || target.contextParts.length > 0)
    return { ...attached, messages };
  const { contextParts, injected } = currentMessage;
  const contextJson = target.contextJson || currentMessage.contextJson;
  return { ...attached, messages: messages.with(index, { ...target, contextParts, contextJson, injected }) };
}
