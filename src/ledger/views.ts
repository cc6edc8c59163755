import type { AgentRole } from "../domain/agent-role.js";
import { fromMicroseconds } from "../domain/clock.js";
import type { Lease } from "../domain/lease.js";
import type { HeadMove, HeadMoveCause, Session, TaskStatus } from "../domain/session.js";
import type { OpenItem, SourceEvent, TokenUsage, Turn, TurnDetails, TurnStatus } from "../domain/turn.js";
import type { StoredSession } from "../storage/ledger/list-sessions.js";
import type { HeadMoveRow, SessionLease, TurnRow } from "../storage/ledger/rows.js";
import { OpenState } from "../thread/open-state.js";
import { readReportedLimits } from "./reported-limits.js";
import { readDefaults } from "./session-defaults.js";

/** Stored rows as the contract shows them. */

export function viewSession({ row, aliases }: StoredSession): Session {
  return {
    id: row.id,
    label: row.label,
    headTurnId: row.headTurnId ?? "",
    depth: row.headDepth,
    aliases,
    workspacePath: row.workspacePath,
    metadata: JSON.parse(row.metadataJson) as { [key: string]: string },
    forkedFromTurnId: row.forkedFromTurnId ?? "",
    subAgent:
      row.parentSessionId === null
        ? undefined
        : {
            parentSessionId: row.parentSessionId,
            parentTurnId: row.parentTurnId ?? "",
            spawningCallId: row.spawningCallId ?? "",
            task: row.task ?? "",
            taskStatus: row.taskStatus as TaskStatus,
          },
    headSequence: row.headSequence,
    createTime: fromMicroseconds(row.createdUs),
    updateTime: fromMicroseconds(row.updatedUs),
    defaults: readDefaults(row),
    reportedLimits: readReportedLimits(row),
    lease: viewLease(row),
  };
}

export function viewLease(row: SessionLease): Lease | undefined {
  if (row.leaseTurnId === null) return undefined;
  return {
    turnId: row.leaseTurnId,
    holder: row.leaseHolder ?? "",
    expireTime: fromMicroseconds(row.leaseExpiresUs!),
    seconds: row.leaseSeconds!,
  };
}

export function viewHeadMove(row: HeadMoveRow): HeadMove {
  return {
    sequence: row.sequence,
    fromTurnId: row.fromTurnId ?? "",
    toTurnId: row.toTurnId,
    cause: row.cause as HeadMoveCause,
    createTime: fromMicroseconds(row.createdUs),
  };
}

export function viewTurn(row: TurnRow): Turn {
  return {
    id: row.id,
    sessionId: row.sessionId,
    parentTurnId: row.parentTurnId ?? "",
    status: row.status as TurnStatus,
    depth: row.depth ?? 0,
    details: viewDetails(row),
    permissionsUsed: JSON.parse(row.permissionsUsedJson) as string[],
    usage: viewUsage(row),
    stopReason: row.stopReason,
    error: row.error,
    messageCount: row.messageCount,
    o200kTokens: Number(row.o200kTokens),
    contextO200kTokens: Number(row.contextO200kTokens),
    openItems: OpenState.parse(row.openStateJson).open,
    abandonedItems: JSON.parse(row.abandonedItemsJson) as OpenItem[],
    contentHash: Buffer.from(row.contentHash ?? []),
    chainHash: Buffer.from(row.chainHash ?? []),
    createTime: fromMicroseconds(row.createdUs),
    completeTime: row.completedUs === null ? undefined : fromMicroseconds(row.completedUs),
    assemblyId: row.assemblyId ?? "",
    modelCallCount: row.modelCallCount,
    modelCalls: [],
    interruptedByTurnId: row.interruptedByTurnId ?? "",
  };
}

export function viewDetails(row: TurnRow): TurnDetails {
  return {
    agentRole: row.agentRole as AgentRole,
    model: row.model,
    provider: row.provider,
    toolset: row.toolset,
    permissionsGranted: JSON.parse(row.permissionsGrantedJson) as string[],
    sourceEvent: row.sourceEventJson === null ? undefined : (JSON.parse(row.sourceEventJson) as SourceEvent),
    workspacePath: row.workspacePath,
    metadata: JSON.parse(row.metadataJson) as { [key: string]: string },
  };
}

function viewUsage(row: TurnRow): TokenUsage | undefined {
  if (row.inputTokens === null) return undefined;
  return {
    inputTokens: Number(row.inputTokens),
    outputTokens: Number(row.outputTokens),
    cachedInputTokens: Number(row.cachedInputTokens),
    cacheWriteTokens: Number(row.cacheWriteTokens),
    reasoningTokens: Number(row.reasoningTokens),
  };
}
