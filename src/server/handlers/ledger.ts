import { type AttachedContext, attachContext } from "../../assembly/attach-context.js";
import { compactSession } from "../../assembly/compaction/compact-session.js";
import { submitCompaction } from "../../assembly/compaction/submit-compaction.js";
import type { AssemblyDeps } from "../../assembly/deps.js";
import { detailsFrom } from "../../assembly/details-from.js";
import { forgetSession } from "../../assembly/forget-session.js";
import { learnUsage } from "../../assembly/learn-usage.js";
import { capsuleOfParent } from "../../assembly/parent-capsule.js";
import * as wire from "../../contract/gen/quire/v1/ledger_service.js";
import type { Message } from "../../domain/message.js";
import { appendMessages } from "../../ledger/append-messages.js";
import { beginTurn } from "../../ledger/begin-turn.js";
import { completeTurn } from "../../ledger/complete-turn.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import { getTurn, listTurns } from "../../ledger/read-turns.js";
import { type RecordedTurn, recordTurn } from "../../ledger/record-turn.js";
import { noDefaults } from "../../ledger/session-defaults.js";
import {
  aliasSession,
  createSession,
  deleteSession,
  forkSession,
  getSession,
  listSessions,
  unaliasSession,
  updateSession,
} from "../../ledger/sessions.js";
import { streamHistory } from "../../ledger/stream-history.js";
import { watchSession } from "../../ledger/watch-session.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { CallContext } from "../call.js";
import { method } from "../method.js";
import { type RpcsOf, rpc, streamRpc } from "../rpc.js";
import * as validation from "../validation/ledger.js";
import { writeKey } from "../write-key.js";

const defaultPageSize = 50;

/** LedgerService: each RPC is its validation and one command of the ledger. */
export function ledgerHandlers(ledger: LedgerDeps, assembly: AssemblyDeps): RpcsOf<wire.LedgerServiceServer> {
  /** The turn with the context that its assembly sent, and what that says of it. A request that was answered before needs none of it again. */
  const withContext = async <Request extends wire.RecordTurnRequest | wire.BeginTurnRequest>(
    key: Pick<WriteKey<never>, "tenantId" | "method" | "requestId">,
    request: Request,
  ): Promise<Request & Partial<AttachedContext>> => {
    const { assemblyId } = request;
    if (!assemblyId || (await ledger.sessions.isAnswered(key))) return request;
    const { sent, ...attached } = await attachContext(assembly, key.tenantId, { ...request, assemblyId });
    return { ...request, ...attached, details: detailsFrom(sent, request.details) };
  };
  /** The same for messages of an open turn. One that is not there is the command's to refuse. */
  const inOpenTurn = async (
    key: Pick<WriteKey<never>, "tenantId" | "method" | "requestId">,
    { turnId, assemblyId = "" }: { readonly turnId: string; readonly assemblyId?: string | undefined },
    messages: readonly Message[],
  ): Promise<Partial<AttachedContext>> => {
    if (assemblyId === "" || (await ledger.sessions.isAnswered(key))) return {};
    const turn = await ledger.threads.findTurn(key.tenantId, turnId);
    if (!turn) return {};
    return attachContext(assembly, key.tenantId, { session: turn.sessionId, assemblyId, messages });
  };
  /** A sub-agent with the capsule that it inherits, if none is named. */
  const spawned = async (
    key: Pick<WriteKey<never>, "tenantId" | "method" | "requestId">,
    request: wire.CreateSessionRequest,
  ): Promise<wire.CreateSessionRequest> => {
    const { subAgent, defaults } = request;
    if (!subAgent || defaults?.capsule || (await ledger.sessions.isAnswered(key))) return request;
    const parent = await ledger.sessions.find(key.tenantId, subAgent.parentSessionId);
    if (!parent) return request;
    const { parentTurnId } = subAgent;
    const capsule = await capsuleOfParent(assembly, key.tenantId, {
      parentSessionId: parent.row.id,
      parentTurnId,
    });
    return capsule ? { ...request, defaults: { ...noDefaults, ...defaults, capsule } } : request;
  };
  /** What a finished turn sets off: a compaction may be due soon, and its usage teaches how a model counts. Nobody waits for it. */
  const finished = (tenantId: string, answer: RecordedTurn): RecordedTurn => {
    const turn = answer.turn!;
    assembly.compactor.afterTurn(tenantId, turn.sessionId);
    learnUsage(assembly, tenantId, turn).catch(() => undefined);
    return answer;
  };
  return {
    createSession: rpc("CreateSession", validation.validateCreateSession, async (request, { tenantId }) => {
      const { CreateSessionRequest, CreateSessionResponse } = wire;
      const key = writeKey(tenantId, "CreateSession", request, CreateSessionRequest, CreateSessionResponse);
      return createSession(ledger, key, await spawned(key, request));
    }),
    getSession: rpc("GetSession", validation.validateGetSession, (request, { tenantId }) =>
      getSession(ledger, tenantId, request.session),
    ),
    listSessions: rpc("ListSessions", validation.validateListSessions, (request, { tenantId }) =>
      listSessions(ledger, tenantId, { ...request, pageSize: request.pageSize || defaultPageSize }),
    ),
    updateSession: rpc("UpdateSession", validation.validateUpdateSession, (request, { tenantId }) =>
      updateSession(
        ledger,
        writeKey(tenantId, "UpdateSession", request, wire.UpdateSessionRequest, wire.UpdateSessionResponse),
        request,
      ),
    ),
    deleteSession: rpc("DeleteSession", validation.validateDeleteSession, async (request, { tenantId }) => {
      const deleted = await deleteSession(
        ledger,
        writeKey(tenantId, "DeleteSession", request, wire.DeleteSessionRequest, wire.DeleteSessionResponse),
        request.session,
      );
      forgetSession(assembly, tenantId, deleted.sessionId);
      return deleted;
    }),
    forkSession: rpc("ForkSession", validation.validateForkSession, (request, { tenantId }) =>
      forkSession(
        ledger,
        writeKey(tenantId, "ForkSession", request, wire.ForkSessionRequest, wire.ForkSessionResponse),
        { ...request, start: request.start! },
      ),
    ),
    aliasSession: rpc("AliasSession", validation.validateAliasSession, (request, { tenantId }) =>
      aliasSession(
        ledger,
        writeKey(tenantId, "AliasSession", request, wire.AliasSessionRequest, wire.AliasSessionResponse),
        request,
      ),
    ),
    unaliasSession: rpc("UnaliasSession", validation.validateUnaliasSession, (request, { tenantId }) =>
      unaliasSession(
        ledger,
        writeKey(
          tenantId,
          "UnaliasSession",
          request,
          wire.UnaliasSessionRequest,
          wire.UnaliasSessionResponse,
        ),
        request.alias,
      ),
    ),
    recordTurn: rpc("RecordTurn", validation.validateRecordTurn, async (request, { tenantId, signal }) => {
      const key = writeKey(tenantId, "RecordTurn", request, wire.RecordTurnRequest, wire.RecordTurnResponse);
      const { parentTurnId = "" } = request;
      const command = { ...(await withContext(key, request)), parentTurnId };
      return finished(tenantId, await recordTurn(ledger, key, command, signal));
    }),
    beginTurn: rpc("BeginTurn", validation.validateBeginTurn, async (request, { tenantId, signal }) => {
      const key = writeKey(tenantId, "BeginTurn", request, wire.BeginTurnRequest, wire.BeginTurnResponse);
      const { parentTurnId = "" } = request;
      return beginTurn(ledger, key, { ...(await withContext(key, request)), parentTurnId }, signal);
    }),
    appendMessages: rpc(
      "AppendMessages",
      validation.validateAppendMessages,
      async (request, { tenantId, signal }) => {
        const key = writeKey(
          tenantId,
          "AppendMessages",
          request,
          wire.AppendMessagesRequest,
          wire.AppendMessagesResponse,
        );
        const context = await inOpenTurn(key, request, request.messages);
        return appendMessages(ledger, key, { ...request, ...context }, signal);
      },
    ),
    completeTurn: rpc(
      "CompleteTurn",
      validation.validateCompleteTurn,
      async (request, { tenantId, signal }) => {
        const key = writeKey(
          tenantId,
          "CompleteTurn",
          request,
          wire.CompleteTurnRequest,
          wire.CompleteTurnResponse,
        );
        const { messages, ...context } = await inOpenTurn(key, request, request.result?.messages ?? []);
        const result = request.result && { ...request.result, messages: messages ?? request.result.messages };
        return finished(
          tenantId,
          await completeTurn(ledger, key, { ...request, ...context, result }, signal),
        );
      },
    ),
    getTurn: rpc("GetTurn", validation.validateGetTurn, (request, { tenantId }) =>
      getTurn(ledger, tenantId, request.turnId),
    ),
    listTurns: rpc("ListTurns", validation.validateListTurns, (request, { tenantId }) =>
      listTurns(ledger, tenantId, {
        ...request,
        scope: request.scope === wire.TurnScope.WRITTEN ? "written" : "thread",
        pageSize: request.pageSize || defaultPageSize,
      }),
    ),
    streamHistory: streamRpc<wire.StreamHistoryRequest, wire.StreamHistoryResponse>(
      "StreamHistory",
      validation.validateStreamHistory,
      (request, { tenantId, signal }) =>
        streamHistory(
          ledger,
          tenantId,
          {
            ...request,
            thread: request.thread!,
            effective: request.view === wire.HistoryView.EFFECTIVE,
          },
          signal,
        ),
    ),
    compact: rpc("Compact", validation.validateCompact, (request, { tenantId, ...limits }) =>
      compactSession(
        assembly,
        writeKey(tenantId, "Compact", request, wire.CompactRequest, wire.CompactResponse),
        request,
        limits,
      ),
    ),
    submitCompaction: rpc(
      "SubmitCompaction",
      validation.validateSubmitCompaction,
      (request, { tenantId, signal }) => {
        const key = writeKey(
          tenantId,
          "SubmitCompaction",
          request,
          wire.SubmitCompactionRequest,
          wire.SubmitCompactionResponse,
        );
        return submitCompaction(assembly, key, request, signal);
      },
    ),
    watchSession: streamRpc(
      "WatchSession",
      validation.validateWatchSession,
      (request, context) => watchEvents(ledger, request, context),
      { endless: true },
    ),
  };
}

async function* watchEvents(
  ledger: LedgerDeps,
  request: wire.WatchSessionRequest,
  { tenantId, signal }: CallContext,
) {
  for await (const event of watchSession(ledger, tenantId, request, signal)) yield { event };
}

const definitions = wire.LedgerServiceService;

/** The methods of the service, with strict decoding and answers that may be bytes. */
export const ledgerService = {
  createSession: method(definitions.createSession, wire.CreateSessionRequest, wire.CreateSessionResponse),
  getSession: method(definitions.getSession, wire.GetSessionRequest, wire.GetSessionResponse),
  listSessions: method(definitions.listSessions, wire.ListSessionsRequest, wire.ListSessionsResponse),
  updateSession: method(definitions.updateSession, wire.UpdateSessionRequest, wire.UpdateSessionResponse),
  deleteSession: method(definitions.deleteSession, wire.DeleteSessionRequest, wire.DeleteSessionResponse),
  forkSession: method(definitions.forkSession, wire.ForkSessionRequest, wire.ForkSessionResponse),
  aliasSession: method(definitions.aliasSession, wire.AliasSessionRequest, wire.AliasSessionResponse),
  unaliasSession: method(definitions.unaliasSession, wire.UnaliasSessionRequest, wire.UnaliasSessionResponse),
  recordTurn: method(definitions.recordTurn, wire.RecordTurnRequest, wire.RecordTurnResponse),
  beginTurn: method(definitions.beginTurn, wire.BeginTurnRequest, wire.BeginTurnResponse),
  appendMessages: method(definitions.appendMessages, wire.AppendMessagesRequest, wire.AppendMessagesResponse),
  completeTurn: method(definitions.completeTurn, wire.CompleteTurnRequest, wire.CompleteTurnResponse),
  getTurn: method(definitions.getTurn, wire.GetTurnRequest, wire.GetTurnResponse),
  listTurns: method(definitions.listTurns, wire.ListTurnsRequest, wire.ListTurnsResponse),
  streamHistory: method(definitions.streamHistory, wire.StreamHistoryRequest, wire.StreamHistoryResponse),
  compact: method(definitions.compact, wire.CompactRequest, wire.CompactResponse),
  submitCompaction: method(
    definitions.submitCompaction,
    wire.SubmitCompactionRequest,
    wire.SubmitCompactionResponse,
  ),
  watchSession: method(definitions.watchSession, wire.WatchSessionRequest, wire.WatchSessionResponse),
};
