import { looksLikeUuid, toMicroseconds } from "../domain/clock.js";
import { HeadMoveCause, type Session, type SessionDefaults, TaskStatus } from "../domain/session.js";
import { QuireError } from "../errors/quire-error.js";
import type { MetadataFilter, StoredSession } from "../storage/ledger/list-sessions.js";
import { noLease, type SessionRow } from "../storage/ledger/rows.js";
import { type SessionTransaction, sessionNotFound } from "../storage/ledger/session-store.js";
import { readPageToken, writePageToken } from "../storage/page-token.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { madeUpCounts, noCounts, plusCounts } from "../thread/thread-counts.js";
import type { LedgerDeps } from "./deps.js";
import { requireFree } from "./lease.js";
import { limitReached, limits } from "./limits.js";
import { openCallsOf } from "./open-calls.js";
import { requireFinished } from "./open-turn.js";
import { changeDefaults, requireTask } from "./session-defaults.js";
import { headMoved } from "./turn-draft.js";
import { viewSession } from "./views.js";

export interface SessionAnswer {
  readonly session: Session | undefined;
}

/** A label that could be taken for an id would hide the session that has the id. */
export function requireLabel(label: string, field: string): void {
  if (looksLikeUuid(label)) throw QuireError.field("INVALID_FIELD", field, "has the form of an id");
}

export function sessionAnswer(stored: StoredSession): {
  readonly answer: SessionAnswer;
  readonly sessionId: string;
} {
  return { answer: { session: viewSession(stored) }, sessionId: stored.row.id };
}

/** How large a thread is as contexts would show it whole. */
export interface ThreadSize {
  readonly turns: number;
  readonly messages: number;
  readonly tokens: number;
  readonly contextTokens: number;
}

export interface FoundSession extends SessionAnswer {
  readonly threadSize: ThreadSize | undefined;
}

export async function getSession(deps: LedgerDeps, tenantId: string, name: string): Promise<FoundSession> {
  const found = await deps.sessions.find(tenantId, name);
  if (!found) throw sessionNotFound(name);
  const { headTurnId } = found.row;
  const head = headTurnId === null ? undefined : await deps.threads.findTurn(tenantId, headTurnId);
  const waiting = madeUpCounts(head ? openCallsOf(head).length : 0);
  const { threadMessages, threadTokens, threadContextTokens } = plusCounts(head ?? noCounts, waiting);
  const threadSize = {
    turns: head?.depth ?? 0,
    messages: Number(threadMessages),
    tokens: Number(threadTokens),
    contextTokens: Number(threadContextTokens),
  };
  return { session: viewSession(found), threadSize };
}

export interface ListSessions {
  readonly pageSize: number;
  readonly pageToken: string;
  readonly labelPrefix: string;
  readonly parentSession: string;
  readonly taskStatus: TaskStatus;
  readonly metadata: readonly MetadataFilter[];
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  readonly nextPageToken: string;
}

/** A page of sessions, the newest first. */
export async function listSessions(
  deps: LedgerDeps,
  tenantId: string,
  command: ListSessions,
): Promise<SessionPage> {
  const [beforeId] = readPageToken("sessions", command.pageToken, [""]);
  const parent = command.parentSession
    ? await deps.sessions.find(tenantId, command.parentSession)
    : undefined;
  if (command.parentSession && !parent) throw sessionNotFound(command.parentSession);
  const found = await deps.sessions.list(tenantId, {
    labelPrefix: command.labelPrefix,
    parentSessionId: parent?.row.id ?? "",
    taskStatus: command.taskStatus === TaskStatus.UNSPECIFIED ? "" : command.taskStatus,
    metadata: command.metadata,
    beforeId: beforeId!,
    limit: command.pageSize + 1,
  });
  const page = found.slice(0, command.pageSize);
  const nextPageToken = found.length > page.length ? writePageToken("sessions", [page.at(-1)!.row.id]) : "";
  return { sessions: page.map(viewSession), nextPageToken };
}

export interface UpdateSession {
  readonly session: string;
  readonly label?: string | undefined;
  readonly workspacePath?: string | undefined;
  readonly setMetadata: { readonly [key: string]: string };
  readonly removeMetadata: readonly string[];
  readonly taskStatus?: TaskStatus | undefined;
  readonly task?: string | undefined;
  readonly defaults?: SessionDefaults | undefined;
  readonly headTurnId?: string | undefined;
  readonly expectedHeadTurnId?: string | undefined;
  readonly forgetReportedLimits?: boolean | undefined;
}

const maxMetadata = 64;

/** Changes what the command names, and leaves the rest as it is. */
export async function updateSession(
  deps: LedgerDeps,
  key: WriteKey<SessionAnswer>,
  command: UpdateSession,
): Promise<SessionAnswer> {
  if (command.label !== undefined) requireLabel(command.label, "label");
  const nowUs = toMicroseconds(deps.clock.now());
  const answer = await deps.sessions.write(key, nowUs, async (sessions) => {
    const before = await sessions.find(command.session);
    const defaults = changeDefaults(before.row, command.defaults);
    const task = changeTask(before.row, command);
    requireTask({ ...before.row, ...task }, defaults, command.task === undefined ? "sub_agent.task" : "task");
    const changes: Partial<SessionRow> = {
      updatedUs: nowUs,
      ...(command.label === undefined ? {} : { label: command.label }),
      ...(command.workspacePath === undefined ? {} : { workspacePath: command.workspacePath }),
      metadataJson: changeMetadata(before.row.metadataJson, command),
      ...task,
      defaultsJson: defaults.defaultsJson,
      toolsJson: defaults.toolsJson,
      ...(command.forgetReportedLimits ? { reportedLimitsJson: null } : {}),
      ...(await moveHead(sessions, before.row, command, nowUs)),
    };
    return sessionAnswer(await sessions.update(before, changes));
  });
  deps.watches.moved(key.tenantId, answer.session!.id);
  return answer;
}

function changeMetadata(metadataJson: string, command: UpdateSession): string {
  const metadata = { ...(JSON.parse(metadataJson) as Record<string, string>), ...command.setMetadata };
  for (const name of command.removeMetadata) delete metadata[name];
  if (Object.keys(metadata).length > maxMetadata) {
    throw QuireError.field(
      "INVALID_FIELD",
      "set_metadata",
      `would leave the session with more than ${maxMetadata} tags`,
    );
  }
  return JSON.stringify(metadata);
}

function changeTask(row: SessionRow, command: UpdateSession): Partial<SessionRow> {
  const { task, taskStatus } = command;
  if (taskStatus === undefined && task === undefined) return {};
  if (row.parentSessionId === null) {
    throw new QuireError("NO_TASK", "the session is no sub-agent's: it has no task", {
      metadata: { session: row.label },
    });
  }
  return { ...(task === undefined ? {} : { task }), ...(taskStatus === undefined ? {} : { taskStatus }) };
}

async function moveHead(
  sessions: SessionTransaction,
  row: SessionRow,
  command: UpdateSession,
  nowUs: bigint,
): Promise<Partial<SessionRow>> {
  const { headTurnId } = command;
  if (headTurnId === undefined) return {};
  if ((row.headTurnId ?? "") !== command.expectedHeadTurnId) {
    throw headMoved(row, "expected_head_turn_id", "is not the session's head");
  }
  const head = requireFinished(await sessions.findTurn(headTurnId), headTurnId);
  if (row.leaseTurnId !== null) requireFree({ ...row, nowUs: await sessions.nowUs() }, "");
  const sequence = row.headSequence + 1;
  await sessions.logHeadMove({
    tenantId: row.tenantId,
    sessionId: row.id,
    sequence,
    fromTurnId: row.headTurnId,
    toTurnId: head.id,
    cause: HeadMoveCause.MOVED,
    createdUs: nowUs,
  });
  return {
    headTurnId: head.id,
    headBranchId: head.branchId,
    headDepth: head.depth,
    headSequence: sequence,
    ...noLease,
  };
}

export interface DeletedSession {
  readonly sessionId: string;
  readonly erasedTurns: number;
  readonly keptTurns: number;
  readonly erasedSubAgentIds: readonly string[];
}

export interface DeleteSession {
  readonly session: string;
  readonly cascade: boolean;
}

/** Erases a session and every turn that no other session reaches; on request those of its sub-agents, too. */
export async function deleteSession(
  deps: LedgerDeps,
  key: WriteKey<DeletedSession>,
  { session, cascade }: DeleteSession,
): Promise<DeletedSession> {
  const nowUs = toMicroseconds(deps.clock.now());
  const answer = await deps.sessions.erase(key, nowUs, session, {
    maxSubAgents: cascade ? limits.sub_agents : 0,
    tooMany: tooManySubAgents,
    answer: (sessionId, erasure) => ({ sessionId, ...erasure }),
  });
  for (const id of [answer.sessionId, ...answer.erasedSubAgentIds]) deps.watches.moved(key.tenantId, id);
  return answer;
}

function tooManySubAgents(session: string): QuireError {
  const max = limits.sub_agents;
  return new QuireError(
    "LIMIT_REACHED",
    `the session has more than ${max} sub-agents: delete some of them first`,
    {
      metadata: { limit: "sub_agents", max: String(max), session },
    },
  );
}

export interface AliasSession {
  readonly alias: string;
  readonly session: string;
  readonly replace: boolean;
}

/** Gives a session another name, moves that name, or takes it away. */
export async function aliasSession(
  deps: LedgerDeps,
  key: WriteKey<SessionAnswer>,
  command: AliasSession,
): Promise<SessionAnswer> {
  const { alias } = command;
  requireLabel(alias, "alias");
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.sessions.write(key, nowUs, async (sessions) => {
    const owner = await sessions.ownerOf(alias);
    const session = await sessions.findRow(command.session);
    const takenByOther = owner !== undefined && owner !== session.id && !command.replace;
    if (takenByOther || (await sessions.isLabel(alias))) {
      throw new QuireError("ALIAS_TAKEN", `${alias} is the name of another session`, {
        metadata: { alias },
        violations: [{ field: "alias", description: "is taken" }],
      });
    }
    const isNew = owner !== session.id;
    if (isNew && (await sessions.hasAliases(session.id, limits.aliases)))
      throw limitReached("aliases", limits.aliases, session.label);
    await sessions.putAlias(alias, session.id, nowUs);
    return sessionAnswer(await sessions.withAliases(session));
  });
}

export async function unaliasSession(
  deps: LedgerDeps,
  key: WriteKey<SessionAnswer>,
  alias: string,
): Promise<SessionAnswer> {
  return deps.sessions.write(key, toMicroseconds(deps.clock.now()), async (sessions) => {
    const owner = await sessions.ownerOf(alias);
    if (owner === undefined)
      throw new QuireError("ALIAS_NOT_FOUND", `there is no alias ${alias}`, { metadata: { alias } });
    await sessions.removeAlias(alias);
    return sessionAnswer(await sessions.find(owner));
  });
}
