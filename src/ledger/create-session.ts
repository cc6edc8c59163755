import { AgentRole } from "../domain/agent-role.js";
import { toMicroseconds } from "../domain/clock.js";
import { type SessionDefaults, type SubAgentLink, TaskStatus } from "../domain/session.js";
import { noLease, type SessionRow } from "../storage/ledger/rows.js";
import type { SessionTransaction } from "../storage/ledger/session-store.js";
import type { WriteKey } from "../storage/stored-answers.js";
import type { LedgerDeps } from "./deps.js";
import { turnNotFound } from "./open-turn.js";
import { changeDefaults, type DefaultsColumns, noDefaults, requireTask } from "./session-defaults.js";
import { requireLabel, type SessionAnswer, sessionAnswer } from "./sessions.js";

export interface CreateSession {
  readonly label: string;
  readonly workspacePath: string;
  readonly metadata: { [key: string]: string };
  readonly subAgent: SubAgentLink | undefined;
  readonly defaults?: SessionDefaults | undefined;
  /** Whether a session that has the name already will do. */
  readonly getIfExists?: boolean | undefined;
}

export interface CreatedSession extends SessionAnswer {
  readonly existed: boolean;
}

const noColumns: DefaultsColumns = { defaultsJson: null, toolsJson: null };

export function newSession(deps: LedgerDeps, tenantId: string, label: string, nowUs: bigint): SessionRow {
  const id = deps.ids.next();
  return {
    tenantId,
    id,
    label: label || id,
    headTurnId: null,
    headBranchId: null,
    headDepth: 0,
    headSequence: 0,
    workspacePath: "",
    metadataJson: "{}",
    forkedFromTurnId: null,
    forkedFromSessionId: null,
    forkCount: 0,
    parentSessionId: null,
    parentTurnId: null,
    spawningCallId: null,
    task: null,
    taskStatus: null,
    ...noColumns,
    reportedLimitsJson: null,
    ...noLease,
    createdUs: nowUs,
    updatedUs: nowUs,
  };
}

/** Makes a session without turns, or finds the one that has its name. */
export async function createSession(
  deps: LedgerDeps,
  key: WriteKey<CreatedSession>,
  command: CreateSession,
): Promise<CreatedSession> {
  requireLabel(command.label, "label");
  const nowUs = toMicroseconds(deps.clock.now());
  return deps.sessions.write(key, nowUs, async (sessions) => {
    const found = command.getIfExists ? await sessions.findNamed(command.label) : undefined;
    if (found) return created(sessionAnswer(found), true);
    const row: SessionRow = {
      ...newSession(deps, key.tenantId, command.label, nowUs),
      workspacePath: command.workspacePath,
      metadataJson: JSON.stringify(command.metadata),
      ...(command.subAgent ? await linkSubAgent(sessions, command.subAgent) : {}),
      ...defaultsOf(command),
    };
    requireTask(row, row, "sub_agent.task");
    return created(sessionAnswer(await sessions.insert(row)), false);
  });
}

function created({ answer, sessionId }: ReturnType<typeof sessionAnswer>, existed: boolean) {
  return { answer: { ...answer, existed }, sessionId };
}

/** A sub-agent is a worker, unless it is said to be something else. */
function defaultsOf({ subAgent, defaults }: CreateSession): DefaultsColumns {
  const { role = AgentRole.UNSPECIFIED } = defaults ?? {};
  const isWorker = subAgent !== undefined && role === AgentRole.UNSPECIFIED;
  return changeDefaults(
    noColumns,
    isWorker ? { ...noDefaults, ...defaults, role: AgentRole.WORKER } : defaults,
  );
}

async function linkSubAgent(sessions: SessionTransaction, link: SubAgentLink): Promise<Partial<SessionRow>> {
  const parent = await sessions.find(link.parentSessionId);
  if (link.parentTurnId !== "" && !(await sessions.findTurn(link.parentTurnId)))
    throw turnNotFound(link.parentTurnId);
  return {
    parentSessionId: parent.row.id,
    parentTurnId: link.parentTurnId || null,
    spawningCallId: link.spawningCallId || null,
    task: link.task,
    taskStatus: link.taskStatus === TaskStatus.UNSPECIFIED ? TaskStatus.PENDING : link.taskStatus,
  };
}
