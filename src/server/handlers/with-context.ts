import type { AssemblyDeps } from "../../assembly/deps.js";
import type * as wire from "../../contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../domain/message.js";
import { OnHeadMoved } from "../../domain/session.js";
import type { TurnDetails } from "../../domain/turn.js";
import { viewDetails } from "../../ledger/views.js";
import { type AttachedContext, attachContext } from "../../receipts/attach-context.js";
import { detailsFrom } from "../../receipts/details-from.js";
import type { AnswerKey } from "./answer-key.js";

/** Requests with the context that their assembly sent. One that was answered before needs none of it again. */

/** A whole turn, or the beginning of one, with what its assembly says of it. */
export async function turnWithContext<Request extends wire.RecordTurnRequest | wire.BeginTurnRequest>(
  assembly: AssemblyDeps,
  key: AnswerKey,
  request: Request,
): Promise<Request & Partial<AttachedContext>> {
  const { assemblyId } = request;
  const isAppended = request.onHeadMoved === OnHeadMoved.APPEND;
  const parentTurnId = isAppended ? undefined : request.parentTurnId;
  if (!assemblyId || (await assembly.ledger.sessions.isAnswered(key))) return { ...request, parentTurnId };
  const { sent, ...attached } = await attachContext(assembly, key.tenantId, { ...request, assemblyId });
  return {
    ...request,
    ...attached,
    details: detailsFrom(sent, request.details),
    parentTurnId: isAppended ? undefined : (parentTurnId ?? sent?.parentTurnId),
  };
}

/** Messages for an open turn. */
export async function messagesWithContext(
  assembly: AssemblyDeps,
  key: AnswerKey,
  request: wire.AppendMessagesRequest,
): Promise<wire.AppendMessagesRequest & Partial<AttachedContext>> {
  return { ...request, ...(await inOpenTurn(assembly, key, request, request.messages)) };
}

/** The end of an open turn. */
export async function resultWithContext(
  assembly: AssemblyDeps,
  key: AnswerKey,
  request: wire.CompleteTurnRequest,
): Promise<wire.CompleteTurnRequest & Omit<Partial<AttachedContext>, "messages">> {
  const given = request.result?.messages ?? [];
  const { messages = given, ...context } = await inOpenTurn(assembly, key, request, given);
  return { ...request, ...context, result: request.result && { ...request.result, messages } };
}

/** A turn that is not there is the command's to refuse. */
async function inOpenTurn(
  assembly: AssemblyDeps,
  key: AnswerKey,
  { turnId, assemblyId = "" }: { readonly turnId: string; readonly assemblyId?: string | undefined },
  messages: readonly Message[],
): Promise<Partial<AttachedContext> & { readonly details?: TurnDetails | undefined }> {
  const { sessions, threads } = assembly.ledger;
  if (assemblyId === "" || (await sessions.isAnswered(key))) return {};
  const turn = await threads.findTurn(key.tenantId, turnId);
  if (!turn) return {};
  const of = { session: turn.sessionId, assemblyId, messages };
  const attached = await attachContext(assembly, key.tenantId, of);
  return { ...attached, details: detailsFrom(attached.sent, viewDetails(turn)) };
}
