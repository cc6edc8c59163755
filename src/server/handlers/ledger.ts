import * as wire from "../../contract/gen/quire/v1/ledger_service.js";
import { appendMessages } from "../../ledger/append-messages.js";
import { beginTurn } from "../../ledger/begin-turn.js";
import { completeTurn } from "../../ledger/complete-turn.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import { getTurn, listTurns } from "../../ledger/read-turns.js";
import { recordTurn } from "../../ledger/record-turn.js";
import {
  aliasSession,
  createSession,
  deleteSession,
  forkSession,
  getSession,
  listSessions,
  updateSession,
} from "../../ledger/sessions.js";
import { streamHistory } from "../../ledger/stream-history.js";
import { watchSession } from "../../ledger/watch-session.js";
import { type CallContext, type CallDeps, method, serverStream, unary } from "../call.js";
import * as validation from "../validation/ledger.js";
import { writeKey } from "../write-key.js";

const defaultPageSize = 50;

/** LedgerService: each RPC is its validation and one command of the ledger. */
export function ledgerHandlers(deps: CallDeps, ledger: LedgerDeps): wire.LedgerServiceServer {
  return {
    createSession: unary(deps, "CreateSession", validation.validateCreateSession, (request, { tenantId }) =>
      createSession(
        ledger,
        writeKey(tenantId, "CreateSession", request, wire.CreateSessionRequest, wire.CreateSessionResponse),
        request,
      ),
    ),
    getSession: unary(deps, "GetSession", validation.validateGetSession, (request, { tenantId }) =>
      getSession(ledger, tenantId, request.session),
    ),
    listSessions: unary(deps, "ListSessions", validation.validateListSessions, (request, { tenantId }) =>
      listSessions(ledger, tenantId, { ...request, pageSize: request.pageSize || defaultPageSize }),
    ),
    updateSession: unary(deps, "UpdateSession", validation.validateUpdateSession, (request, { tenantId }) =>
      updateSession(
        ledger,
        writeKey(tenantId, "UpdateSession", request, wire.UpdateSessionRequest, wire.UpdateSessionResponse),
        request,
      ),
    ),
    deleteSession: unary(deps, "DeleteSession", validation.validateDeleteSession, (request, { tenantId }) =>
      deleteSession(
        ledger,
        writeKey(tenantId, "DeleteSession", request, wire.DeleteSessionRequest, wire.DeleteSessionResponse),
        request.session,
      ),
    ),
    forkSession: unary(deps, "ForkSession", validation.validateForkSession, (request, { tenantId }) =>
      forkSession(
        ledger,
        writeKey(tenantId, "ForkSession", request, wire.ForkSessionRequest, wire.ForkSessionResponse),
        { ...request, from: request.from! },
      ),
    ),
    aliasSession: unary(deps, "AliasSession", validation.validateAliasSession, (request, { tenantId }) =>
      aliasSession(
        ledger,
        writeKey(tenantId, "AliasSession", request, wire.AliasSessionRequest, wire.AliasSessionResponse),
        request,
      ),
    ),
    recordTurn: unary(deps, "RecordTurn", validation.validateRecordTurn, (request, { tenantId, signal }) =>
      recordTurn(
        ledger,
        writeKey(tenantId, "RecordTurn", request, wire.RecordTurnRequest, wire.RecordTurnResponse),
        request,
        signal,
      ),
    ),
    beginTurn: unary(deps, "BeginTurn", validation.validateBeginTurn, (request, { tenantId, signal }) =>
      beginTurn(
        ledger,
        writeKey(tenantId, "BeginTurn", request, wire.BeginTurnRequest, wire.BeginTurnResponse),
        request,
        signal,
      ),
    ),
    appendMessages: unary(
      deps,
      "AppendMessages",
      validation.validateAppendMessages,
      (request, { tenantId, signal }) =>
        appendMessages(
          ledger,
          writeKey(
            tenantId,
            "AppendMessages",
            request,
            wire.AppendMessagesRequest,
            wire.AppendMessagesResponse,
          ),
          request,
          signal,
        ),
    ),
    completeTurn: unary(
      deps,
      "CompleteTurn",
      validation.validateCompleteTurn,
      (request, { tenantId, signal }) =>
        completeTurn(
          ledger,
          writeKey(tenantId, "CompleteTurn", request, wire.CompleteTurnRequest, wire.CompleteTurnResponse),
          request,
          signal,
        ),
    ),
    getTurn: unary(deps, "GetTurn", validation.validateGetTurn, (request, { tenantId }) =>
      getTurn(ledger, tenantId, request.turnId),
    ),
    listTurns: unary(deps, "ListTurns", validation.validateListTurns, (request, { tenantId }) =>
      listTurns(ledger, tenantId, {
        ...request,
        scope: request.scope === wire.TurnScope.WRITTEN ? "written" : "thread",
        pageSize: request.pageSize || defaultPageSize,
      }),
    ),
    // Both views are the whole thread as long as no thread has a compaction.
    streamHistory: serverStream<wire.StreamHistoryRequest, wire.StreamHistoryResponse>(
      deps,
      "StreamHistory",
      validation.validateStreamHistory,
      (request, { tenantId, signal }) =>
        streamHistory(ledger, tenantId, { ...request, thread: request.thread! }, signal),
    ),
    watchSession: serverStream(
      deps,
      "WatchSession",
      validation.validateWatchSession,
      (request, context) => watchEvents(ledger, request, context),
      deps.draining,
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
  recordTurn: method(definitions.recordTurn, wire.RecordTurnRequest, wire.RecordTurnResponse),
  beginTurn: method(definitions.beginTurn, wire.BeginTurnRequest, wire.BeginTurnResponse),
  appendMessages: method(definitions.appendMessages, wire.AppendMessagesRequest, wire.AppendMessagesResponse),
  completeTurn: method(definitions.completeTurn, wire.CompleteTurnRequest, wire.CompleteTurnResponse),
  getTurn: method(definitions.getTurn, wire.GetTurnRequest, wire.GetTurnResponse),
  listTurns: method(definitions.listTurns, wire.ListTurnsRequest, wire.ListTurnsResponse),
  streamHistory: method(definitions.streamHistory, wire.StreamHistoryRequest, wire.StreamHistoryResponse),
  watchSession: method(definitions.watchSession, wire.WatchSessionRequest, wire.WatchSessionResponse),
};
