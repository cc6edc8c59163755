import type { AssemblyDeps } from "../../assembly/deps.js";
import { forgetSession } from "../../assembly/forget-session.js";
import { compactSession } from "../../compaction/jobs/compact-session.js";
import { submitCompaction } from "../../compaction/jobs/submit-compaction.js";
import {
  HistoryView,
  LedgerServiceDefinition,
  TurnScope,
} from "../../contract/gen/quire/v1/ledger_service.js";
import { appendMessages } from "../../ledger/append-messages.js";
import { beginTurn } from "../../ledger/begin-turn.js";
import { completeTurn } from "../../ledger/complete-turn.js";
import { createSession } from "../../ledger/create-session.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import { forkSession } from "../../ledger/fork-session.js";
import { reportedCalls } from "../../ledger/model-calls.js";
import { getTurn, listTurns } from "../../ledger/read-turns.js";
import { recordTurn } from "../../ledger/record-turn.js";
import { renewLease } from "../../ledger/renew-lease.js";
import {
  aliasSession,
  deleteSession,
  getSession,
  listSessions,
  unaliasSession,
  updateSession,
} from "../../ledger/sessions.js";
import { streamHistory } from "../../ledger/stream-history.js";
import { watchSession } from "../../ledger/watch-session.js";
import { compactionOfContext } from "../../receipts/compaction-of-context.js";
import { paged } from "../paged.js";
import { type Service, service } from "../service.js";
import { afterCalls, afterTurn } from "./after-turn.js";
import { callWarnings } from "./call-warnings.js";
import { messagesWithContext, resultWithContext, turnWithContext } from "./with-context.js";
import { withParentCapsule } from "./with-parent-capsule.js";
import { detailsWith, readAnswering, resultsOf, resultWith } from "./with-response.js";

const noAssembly = async () => undefined;

/** The assembly that an open turn began with. */
function assemblyOf({ threads }: LedgerDeps, tenantId: string, turnId: string) {
  return async () => (await threads.findTurn(tenantId, turnId))?.assemblyId ?? undefined;
}

/** LedgerService: each RPC is one command of the ledger, or of the assembly where it makes summaries. */
export function ledgerService(ledger: LedgerDeps, assembly: AssemblyDeps): Service<LedgerServiceDefinition> {
  return service(
    LedgerServiceDefinition,
    {
      createSession: async (request, { key }) =>
        createSession(ledger, key, await withParentCapsule(assembly, key, request)),
      getSession: ({ session }, { tenantId }) => getSession(ledger, tenantId, session),
      listSessions: (request, { tenantId }) => listSessions(ledger, tenantId, paged(request)),
      updateSession: (request, { key }) => updateSession(ledger, key, request),
      deleteSession: async (request, { key, tenantId }) => {
        const deleted = await deleteSession(ledger, key, request);
        for (const id of [deleted.sessionId, ...deleted.erasedSubAgentIds])
          forgetSession(assembly, tenantId, id);
        return deleted;
      },
      forkSession: (request, { key }) => forkSession(ledger, key, request),
      aliasSession: (request, { key }) => aliasSession(ledger, key, request),
      unaliasSession: ({ alias }, { key }) => unaliasSession(ledger, key, alias),
      recordTurn: async (request, { key, tenantId, signal }) => {
        const { teaches, ...read } = await readAnswering(assembly, tenantId, request, noAssembly, signal);
        const context = await turnWithContext(assembly, key, request);
        const more = await callWarnings(
          assembly,
          key,
          request.result,
          async () => (await ledger.threads.findHead(tenantId, request.session))?.session.id,
        );
        const command = {
          ...context,
          ...read,
          details: detailsWith(context.details, read),
          result: resultWith(request.result, read),
          warnings: [...(context.warnings ?? []), ...more, ...read.warnings],
        };
        const calls = teaches ? reportedCalls(command.result ?? {}, command) : [];
        return afterTurn(assembly, tenantId, await recordTurn(ledger, key, command, signal), calls);
      },
      beginTurn: async (request, { key, tenantId, signal, stepAside }) => {
        const results = resultsOf(request.toolResults);
        const command = { ...(await turnWithContext(assembly, key, request)), ...results };
        const begun = await beginTurn(ledger, key, command, signal, stepAside);
        if (begun.interrupted) assembly.compactor.afterTurn(tenantId, begun.interrupted.sessionId);
        return begun;
      },
      appendMessages: async (request, { key, tenantId, signal }) => {
        const turnAssembly = assemblyOf(ledger, tenantId, request.turnId);
        const { teaches, ...read } = await readAnswering(assembly, tenantId, request, turnAssembly, signal);
        const context = await messagesWithContext(assembly, key, request);
        const command = {
          ...context,
          ...read,
          usage: request.usage ?? read.modelAnswer?.usage,
          warnings: [...(context.warnings ?? []), ...read.warnings],
        };
        const answer = await appendMessages(ledger, key, command, signal);
        if (teaches) afterCalls(assembly, tenantId, answer.turn!, reportedCalls(command, command));
        return answer;
      },
      completeTurn: async (request, { key, tenantId, signal }) => {
        const turnAssembly = assemblyOf(ledger, tenantId, request.turnId);
        const { teaches, ...read } = await readAnswering(assembly, tenantId, request, turnAssembly, signal);
        const context = await resultWithContext(assembly, key, request);
        const more = await callWarnings(
          assembly,
          key,
          request.result,
          async () => (await ledger.threads.findTurn(tenantId, request.turnId))?.sessionId,
        );
        const command = {
          ...context,
          ...read,
          result: resultWith(context.result, read),
          warnings: [...(context.warnings ?? []), ...more, ...read.warnings],
        };
        const calls = teaches ? reportedCalls(command.result ?? {}, command) : [];
        return afterTurn(assembly, tenantId, await completeTurn(ledger, key, command, signal), calls);
      },
      renewLease: (request, { tenantId }) => renewLease(ledger, tenantId, request),
      getTurn: ({ turnId }, { tenantId }) => getTurn(ledger, tenantId, turnId),
      listTurns: (request, { tenantId }) => {
        const scope = request.scope === TurnScope.WRITTEN ? "written" : "thread";
        return listTurns(ledger, tenantId, { ...paged(request), scope });
      },
      streamHistory: async function* (request, { tenantId, signal }) {
        const effective = request.view === HistoryView.EFFECTIVE;
        const compactionId = request.assemblyId
          ? await compactionOfContext(assembly, tenantId, request.assemblyId)
          : undefined;
        const command = { ...request, thread: request.thread!, effective, compactionId };
        yield* streamHistory(ledger, tenantId, command, signal);
      },
      compact: (request, { key, ...limits }) => compactSession(assembly.compaction, key, request, limits),
      submitCompaction: (request, { key, signal }) =>
        submitCompaction(assembly.compaction, key, request, signal),
      watchSession: async function* (request, { tenantId, signal }) {
        for await (const event of watchSession(ledger, tenantId, request, signal)) yield { event };
      },
    },
    { endless: ["watchSession"] },
  );
}
