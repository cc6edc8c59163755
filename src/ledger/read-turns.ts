import type { CompactionTurn } from "../domain/compaction.js";
import type { Message, ToolResultPart } from "../domain/message.js";
import { type AgentResult, type ToolInvocation, type Turn, TurnStatus } from "../domain/turn.js";
import { groupBy } from "../storage/group-by.js";
import { sessionNotFound } from "../storage/ledger/session-store.js";
import { pageTokenInvalid, readPageToken, writePageToken } from "../storage/page-token.js";
import { decodeMessages } from "../thread/message-codec.js";
import type { LedgerDeps } from "./deps.js";
import { viewCall } from "./model-calls.js";
import { turnNotFound } from "./open-turn.js";
import { viewCompaction } from "./view-compaction.js";
import { viewTurn } from "./views.js";

/** A turn with its result, or a compaction. */
export interface FoundTurn {
  readonly found:
    | { readonly $case: "recorded"; readonly value: { readonly turn: Turn; readonly result: AgentResult } }
    | { readonly $case: "compaction"; readonly value: CompactionTurn };
}

/** One turn in any state, with all its messages; or a compaction. */
export async function getTurn(deps: LedgerDeps, tenantId: string, turnId: string): Promise<FoundTurn> {
  const row = await deps.threads.findTurn(tenantId, turnId);
  if (!row) {
    const compaction = await deps.compactions.find(tenantId, turnId);
    if (!compaction) throw turnNotFound(turnId);
    return { found: { $case: "compaction", value: viewCompaction(compaction) } };
  }
  const rows = await deps.threads.findMessages(tenantId, turnId);
  const calls = row.modelCallCount > 0 ? await deps.threads.findCalls(tenantId, [turnId]) : [];
  const modelCalls = calls.slice(0, row.modelCallCount).map(viewCall);
  const turn = { ...viewTurn(row), modelCalls };
  // Several reads: what was appended between them is left out, and where messages are missing the turn was erased.
  const messages = rows.flatMap((piece) => decodeMessages(piece.wire)).slice(0, row.messageCount);
  if (messages.length < row.messageCount) throw turnNotFound(turnId);
  const { usage, stopReason, error, permissionsUsed } = turn;
  const result = {
    messages,
    calls: invocations(messages),
    usage,
    stopReason,
    error,
    permissionsUsed,
    modelCalls,
  };
  return { found: { $case: "recorded", value: { turn, result } } };
}

function invocations(messages: readonly Message[]): ToolInvocation[] {
  const contents = messages.flatMap((message) => message.parts.flatMap((part) => part.content ?? []));
  const results = new Map<string, ToolResultPart>();
  for (const content of contents)
    if (content.$case === "toolResult") results.set(content.value.callId, content.value);
  return contents.flatMap((content) =>
    content.$case === "toolCall" ? { call: content.value, result: results.get(content.value.callId) } : [],
  );
}

export interface ListTurns {
  readonly session: string;
  readonly scope: "thread" | "written";
  readonly statuses: readonly TurnStatus[];
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface TurnPage {
  readonly turns: readonly Turn[];
  readonly nextPageToken: string;
  /** Those of the session that hang off the turns of the page, the newest first. */
  readonly compactions: readonly CompactionTurn[];
}

type PageOfTurns = Omit<TurnPage, "compactions">;

/** A page of a session's turns, the newest first. A later page goes on where the one before ended, whatever was written meanwhile. */
export async function listTurns(deps: LedgerDeps, tenantId: string, command: ListTurns): Promise<TurnPage> {
  const found = await deps.threads.findHead(tenantId, command.session);
  if (!found) throw sessionNotFound(command.session);
  const page =
    command.scope === "thread"
      ? await listThread(deps, tenantId, command, found.session)
      : await listWritten(deps, tenantId, command, found.session.id);
  const ids = page.turns.map((turn) => turn.id);
  const compactions = await deps.compactions.ofTurns(tenantId, found.session.id, ids);
  const turns = await withModelCalls(deps, tenantId, page.turns);
  return { ...page, turns, compactions: compactions.map(viewCompaction) };
}

/** A list names so many model calls of each turn. */
const listedCalls = 64;

async function withModelCalls(deps: LedgerDeps, tenantId: string, turns: readonly Turn[]): Promise<Turn[]> {
  const ids = turns.filter((turn) => turn.modelCallCount > 0).map((turn) => turn.id);
  const calls = groupBy(await deps.threads.findCalls(tenantId, ids, listedCalls), (row) => row.turnId);
  return turns.map((turn) => {
    const own = calls.get(turn.id);
    return own ? { ...turn, modelCalls: own.slice(0, turn.modelCallCount).map(viewCall) } : turn;
  });
}

async function listThread(
  deps: LedgerDeps,
  tenantId: string,
  command: ListTurns,
  session: { readonly id: string; readonly headBranchId: string | null; readonly headDepth: number },
): Promise<PageOfTurns> {
  const list = `thread of ${session.id}`;
  const head = [session.headBranchId ?? "", String(session.headDepth)];
  const [branchId, depthText] = readPageToken(list, command.pageToken, head);
  if (!/^\d{1,9}$/.test(depthText!)) throw pageTokenInvalid();
  const position = { branchId: branchId!, depth: Number(depthText) };
  const segments = position.branchId ? await deps.threads.segments(tenantId, position) : [];
  const statuses = command.statuses.filter((status) => status !== TurnStatus.UNSPECIFIED);
  const turns: Turn[] = [];
  let next: string | undefined;
  for (const segment of segments.reverse()) {
    const rows = await deps.threads.listSegment(
      tenantId,
      segment,
      statuses,
      command.pageSize + 1 - turns.length,
    );
    for (const row of rows) {
      if (turns.length === command.pageSize) next = writePageToken(list, [row.branchId!, String(row.depth)]);
      else turns.push(viewTurn(row));
    }
    if (next) break;
  }
  return { turns, nextPageToken: next ?? "" };
}

async function listWritten(
  deps: LedgerDeps,
  tenantId: string,
  command: ListTurns,
  sessionId: string,
): Promise<PageOfTurns> {
  const list = `written through ${sessionId}`;
  const [before] = readPageToken(list, command.pageToken, [""]);
  const rows = await deps.threads.listWritten(
    tenantId,
    sessionId,
    command.statuses,
    before!,
    command.pageSize + 1,
  );
  const page = rows.slice(0, command.pageSize);
  const nextPageToken = rows.length > page.length ? writePageToken(list, [page.at(-1)!.id]) : "";
  return { turns: page.map(viewTurn), nextPageToken };
}
