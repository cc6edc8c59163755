import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte, ownBytes, textBytes } from "../../domain/memory-size.js";
import type { Soon } from "../../domain/soon.js";
import type { StoredTurn } from "../../domain/stored-turn.js";
import type { Database } from "../database.js";
import { inSlices } from "../in-slices.js";
import { asBigInt, asBuffer, list, type SqlRow, type SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { findSessionRow, sessionLookups } from "./find-session.js";
import {
  type MessageRow,
  type ModelCallRow,
  modelCallShape,
  type ParentTurn,
  type PinRow,
  parentShape,
  pinShape,
  type SessionHead,
  type SessionMemory,
  type SessionRow,
  sessionHeadShape,
  sessionMemoryShape,
  type TurnRow,
  turnShape,
} from "./rows.js";

/** A finished turn's place. */
export interface ThreadPosition {
  readonly branchId: string;
  readonly depth: number;
}

/** A run of a thread's turns on one branch, both ends included. */
export interface ThreadSegment {
  readonly branchId: string;
  readonly fromDepth: number;
  readonly toDepth: number;
}

/** Whether a turn stands on the thread that these runs make up. */
export function isOnThread(
  segments: readonly ThreadSegment[],
  turn: { readonly branchId: string | null; readonly depth: number | null } | undefined,
): boolean {
  const { branchId, depth } = turn ?? { branchId: null, depth: null };
  if (branchId === null || depth === null) return false;
  return segments.some(
    (segment) => segment.branchId === branchId && segment.fromDepth <= depth && depth <= segment.toDepth,
  );
}

/** A sub-agent's newest turn. */
export type SubAgentTurn = Pick<SessionRow, "label" | "taskStatus"> & { readonly completedUs: bigint };

const selectSubAgentTurns = `SELECT s.label, s.task_status, t.completed_us FROM
(SELECT label, task_status, head_turn_id, id FROM sessions WHERE tenant_id = ? AND parent_session_id = ? ORDER BY id DESC LIMIT 64) s
JOIN turns t ON t.tenant_id = ? AND t.id = s.head_turn_id WHERE t.completed_us > ? ORDER BY s.id DESC`;

/** What a context is pinned by beside its session. */
export type PinKey = Pick<PinRow, "model" | "role" | "replay" | "limitTokens">;

export interface SessionHoldings {
  readonly compactions: boolean;
  readonly pins: boolean;
  readonly subAgents: boolean;
}

/** A session, the turn at its head, and the tenant's erasure epoch. */
export interface FoundThread {
  readonly session: SessionHead;
  readonly head: ParentTurn | undefined;
  readonly epoch: number;
  readonly memory: SessionMemory;
  /** Whether the session has any of these at all: most have none, and then nobody need ask for them. */
  readonly holds: SessionHoldings;
}

interface BranchLink {
  readonly parentBranchId: string | null;
  readonly forkDepth: number;
}

/** Turns and messages as they are stored; reads only. */
export class ThreadStore {
  /** A branch's origin never changes, so it may be kept for ever; the bound is for memory. */
  private readonly links: BoundedCache<BranchLink>;

  constructor(
    private readonly database: Database,
    caches: Caches,
  ) {
    this.links = caches.create<BranchLink>(
      "branches",
      16 * megabyte,
      ({ parentBranchId }) => 48 + textBytes(parentBranchId ?? ""),
    );
  }

  /** The head of a session, and the tenant's erasure epoch, in one read. */
  async findHead(
    tenantId: string,
    name: string,
  ): Promise<{ readonly session: SessionHead; readonly epoch: number } | undefined> {
    const row = await this.reading(() => findSessionRow(this.database.select, headLookups, tenantId, name));
    return row && { session: sessionHeadShape.read(row)!, epoch: epochOf(row) };
  }

  /** The same with the turn at the head, which is missing in a session without turns. */
  findThread(tenantId: string, name: string): Soon<FoundThread | undefined> {
    try {
      const row = findSessionRow(this.database.select, threadLookups, tenantId, name);
      if (!(row instanceof Promise)) return row && readThread(row);
      return this.reading(async () => {
        const found = await row;
        return found && readThread(found);
      });
    } catch (error) {
      throw asStorageError(error);
    }
  }

  async epoch(tenantId: string): Promise<number> {
    const [row] = await this.query("SELECT epoch FROM erasure_epochs WHERE tenant_id = ?", [tenantId]);
    return Number(row?.[0] ?? 0);
  }

  /** The turns at the heads of a session's sub-agents that ended after a time. Of many sub-agents, the newest are asked. */
  async subAgentTurns(tenantId: string, sessionId: string, sinceUs: bigint): Promise<SubAgentTurn[]> {
    const rows = await this.query(selectSubAgentTurns, [tenantId, sessionId, tenantId, sinceUs]);
    return rows.map((row) => ({
      label: row[0] as string,
      taskStatus: row[1] as string | null,
      completedUs: asBigInt(row[2]),
    }));
  }

  async findTurn(tenantId: string, turnId: string): Promise<TurnRow | undefined> {
    const [row] = await this.query(selectTurn, [tenantId, turnId]);
    return row && turnShape.read(row);
  }

  /** The turn at a depth of the thread that these runs make up. */
  async findTurnAt(
    tenantId: string,
    segments: readonly ThreadSegment[],
    depth: number,
  ): Promise<ParentTurn | undefined> {
    const segment = segments.find(({ fromDepth, toDepth }) => fromDepth <= depth && depth <= toDepth);
    if (!segment) return undefined;
    const [row] = await this.query(selectTurnAt, [tenantId, segment.branchId, depth]);
    return row && parentShape.read(row);
  }

  async findMessages(tenantId: string, turnId: string): Promise<MessageRow[]> {
    return this.reading(() =>
      this.database.reader.messageRow.findMany({
        where: { tenantId, turnId },
        orderBy: { firstIndex: "asc" },
      }),
    );
  }

  /** What the index says of a turn's messages: one text per write call. */
  async findIndexes(tenantId: string, turnId: string): Promise<string[]> {
    const rows = await this.query(selectIndexes, [tenantId, turnId]);
    return rows.map(([indexJson]) => indexJson as string);
  }

  /** The model calls of turns, in order; of each turn the first ones. */
  async findCalls(
    tenantId: string,
    turnIds: readonly string[],
    maxOfEach = Number.MAX_SAFE_INTEGER,
  ): Promise<ModelCallRow[]> {
    const calls: ModelCallRow[] = [];
    for (let at = 0; at < turnIds.length; at += turnsPerRead) {
      if (at > 0) await new Promise((resolve) => setImmediate(resolve));
      const some = turnIds.slice(at, at + turnsPerRead);
      const rows = await this.query(selectCalls(some.length), [tenantId, maxOfEach, ...some]);
      for (const row of rows) calls.push(modelCallShape.read(row)!);
    }
    return calls;
  }

  /** The context that a session last sent for a key. */
  async findPin(tenantId: string, sessionId: string, key: PinKey): Promise<PinRow | undefined> {
    const { model, role, replay, limitTokens } = key;
    const [row] = await this.query(selectPin, [tenantId, sessionId, model, role, replay, limitTokens]);
    return row && pinShape.read(row);
  }

  /** The contexts that a session last sent, whoever for, the newest first. */
  async newestPins(tenantId: string, sessionId: string, limit: number): Promise<PinRow[]> {
    const rows = await this.query(selectPins, [tenantId, sessionId, limit]);
    return rows.map((row) => pinShape.read(row)!);
  }

  /** The runs that make up a thread after a depth, the oldest first. */
  segments(tenantId: string, head: ThreadPosition, afterDepth = 0): Soon<ThreadSegment[]> {
    return (
      segmentsBy(head, afterDepth, (branchId) => this.links.get(linkKey(tenantId, branchId))) ??
      this.readSegments(tenantId, head, afterDepth)
    );
  }

  private async readSegments(
    tenantId: string,
    head: ThreadPosition,
    afterDepth: number,
  ): Promise<ThreadSegment[]> {
    const links = new Map<string, BranchLink>();
    for (
      let branchId: string | null = head.branchId, toDepth = head.depth;
      branchId !== null && toDepth > afterDepth;
    ) {
      const link: BranchLink = await this.link(tenantId, branchId);
      links.set(branchId, link);
      toDepth = Math.min(toDepth, link.forkDepth);
      branchId = link.parentBranchId;
    }
    return segmentsBy(head, afterDepth, (branchId) => links.get(branchId))!;
  }

  /** The messages of a run of turns, the oldest first. */
  async readSegment(tenantId: string, segment: ThreadSegment): Promise<StoredTurn[]> {
    const rows = await this.query(selectSegment, [
      tenantId,
      segment.branchId,
      segment.fromDepth,
      segment.toDepth,
    ]);
    const turns: StoredTurn[] = [];
    for (const [turnId, depth, indexJson, wire] of rows) {
      const last = turns.at(-1);
      if (last?.turnId === turnId) {
        turns[turns.length - 1] = {
          ...last!,
          wires: [...last!.wires, ownBytes(asBuffer(wire))],
          indexes: [...last!.indexes, indexJson as string],
        };
      } else {
        turns.push({
          turnId: turnId as string,
          depth: Number(depth),
          wires: [ownBytes(asBuffer(wire))],
          indexes: [indexJson as string],
        });
      }
    }
    return turns;
  }

  /** Turns of a run, the newest first. */
  async listSegment(
    tenantId: string,
    segment: ThreadSegment,
    statuses: readonly string[],
    limit: number,
  ): Promise<TurnRow[]> {
    const read = (take: number, last: TurnRow | undefined) =>
      this.database.reader.turn.findMany({
        where: {
          tenantId,
          branchId: segment.branchId,
          depth: { gte: segment.fromDepth, lte: last ? last.depth! - 1 : segment.toDepth },
          ...(statuses.length > 0 ? { status: { in: [...statuses] } } : {}),
        },
        orderBy: { depth: "desc" },
        take,
      });
    return this.reading(() => inSlices(limit, read));
  }

  /** Turns written through a session, the newest first. */
  async listWritten(
    tenantId: string,
    sessionId: string,
    statuses: readonly string[],
    beforeId: string,
    limit: number,
  ): Promise<TurnRow[]> {
    const read = (take: number, last: TurnRow | undefined) =>
      this.database.reader.turn.findMany({
        where: {
          tenantId,
          sessionId,
          ...(last || beforeId ? { id: { lt: last?.id ?? beforeId } } : {}),
          ...(statuses.length > 0 ? { status: { in: [...statuses] } } : {}),
        },
        orderBy: { id: "desc" },
        take,
      });
    return this.reading(() => inSlices(limit, read));
  }

  private async link(tenantId: string, branchId: string): Promise<BranchLink> {
    const key = linkKey(tenantId, branchId);
    const known = this.links.get(key);
    if (known) return known;
    const [row] = await this.query(
      "SELECT parent_branch_id, fork_depth FROM branches WHERE tenant_id = ? AND id = ?",
      [tenantId, branchId],
    );
    // A thread that was erased between two reads: it ends here, and its turns are not found.
    const link: BranchLink = row
      ? { parentBranchId: row[0] as string | null, forkDepth: Number(row[1]) }
      : { parentBranchId: null, forkDepth: 0 };
    if (row) this.links.set(key, link);
    return link;
  }

  private query(text: string, args: readonly SqlValue[]) {
    return this.reading(() => this.database.sqlReader.query(text, args));
  }

  private async reading<T>(work: () => Soon<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function linkKey(tenantId: string, branchId: string): string {
  return `${tenantId}/${branchId}`;
}

/** Undefined where a branch's origin is not known. */
function segmentsBy(
  head: ThreadPosition,
  afterDepth: number,
  linkOf: (branchId: string) => BranchLink | undefined,
): ThreadSegment[] | undefined {
  const segments: ThreadSegment[] = [];
  let branchId: string | null = head.branchId;
  let toDepth = head.depth;
  while (branchId !== null && toDepth > afterDepth) {
    const link = linkOf(branchId);
    if (!link) return undefined;
    const fromDepth = Math.max(link.forkDepth, afterDepth) + 1;
    if (fromDepth <= toDepth) segments.push({ branchId, fromDepth, toDepth });
    toDepth = Math.min(toDepth, link.forkDepth);
    branchId = link.parentBranchId;
  }
  return segments.reverse();
}

/** The calls of so many turns are read at once: SQLite answers in this thread. */
const turnsPerRead = 32;
const selectCalls = (turns: number) =>
  `SELECT ${modelCallShape.columnList} FROM model_calls WHERE tenant_id = ? AND sequence < CAST(? AS BIGINT) AND turn_id IN (${list(turns)}) ORDER BY turn_id, sequence`;
const selectIndexes =
  "SELECT index_json FROM messages WHERE tenant_id = ? AND turn_id = ? ORDER BY first_index";
const epochColumn = sessionHeadShape.columns.length;
const memoryColumn = epochColumn + 1 + parentShape.columns.length;
const holdsColumn = memoryColumn + sessionMemoryShape.columns.length;
const holds = (table: string, session = "session_id") =>
  `CASE WHEN EXISTS (SELECT 1 FROM ${table} h WHERE h.tenant_id = s.tenant_id AND h.${session} = s.id) THEN 1 ELSE 0 END`;
const withEpoch = "FROM sessions s LEFT JOIN erasure_epochs e ON e.tenant_id = s.tenant_id";
const headLookups = sessionLookups(
  `SELECT ${sessionHeadShape.columnsOf("s")}, e.epoch ${withEpoch} WHERE s.tenant_id = ? AND`,
);
const threadLookups = sessionLookups(
  `SELECT ${sessionHeadShape.columnsOf("s")}, e.epoch, ${parentShape.columnsOf("t")}, ${sessionMemoryShape.columnsOf("s")}, ${holds("session_compactions")}, ${holds("context_pins")}, ${holds("sessions", "parent_session_id")} ${withEpoch} LEFT JOIN turns t ON t.tenant_id = s.tenant_id AND t.id = s.head_turn_id WHERE s.tenant_id = ? AND`,
);
const selectTurn = `SELECT ${turnShape.columnList} FROM turns WHERE tenant_id = ? AND id = ?`;
const selectTurnAt = `SELECT ${parentShape.columnList} FROM turns WHERE tenant_id = ? AND branch_id = ? AND depth = ?`;
const selectPin = `SELECT ${pinShape.columnList} FROM context_pins WHERE tenant_id = ? AND session_id = ? AND model = ? AND role = ? AND replay = ? AND limit_tokens = ?`;
const selectPins = `SELECT ${pinShape.columnList} FROM context_pins WHERE tenant_id = ? AND session_id = ? ORDER BY pinned_us DESC LIMIT ?`;
const selectSegment =
  "SELECT turn_id, depth, index_json, wire FROM messages WHERE tenant_id = ? AND branch_id = ? AND depth BETWEEN ? AND ? ORDER BY depth, first_index";

function readThread(row: SqlRow): FoundThread {
  return {
    session: sessionHeadShape.read(row)!,
    epoch: epochOf(row),
    head: parentShape.read(row, epochColumn + 1),
    memory: sessionMemoryShape.read(row, memoryColumn)!,
    holds: {
      compactions: row[holdsColumn] === 1,
      pins: row[holdsColumn + 1] === 1,
      subAgents: row[holdsColumn + 2] === 1,
    },
  };
}

function epochOf(row: SqlRow): number {
  return Number(row[epochColumn] ?? 0);
}
