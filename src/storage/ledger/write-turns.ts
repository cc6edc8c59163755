import type { Database } from "../database.js";
import { groupBy } from "../group-by.js";
import { markPending } from "../recall/pending.js";
import { asBuffer, type Dialect, list, type Sql, type SqlValue } from "../sql.js";
import { asStorageError, failsAll, isRaceLost, raceRetries } from "../storage-error.js";
import { replayAnswer, storedAnswerRow, type WriteKey } from "../stored-answers.js";
import { type Outcome, type QueuedJob, WriteQueue } from "../write-queue.js";
import { findLeased, type LeaseFrom, leasedBy, type OpenTurn } from "./leased-turns.js";
import { type LockedSession, lockRows, lockSessions } from "./lock-sessions.js";
import {
  type BranchRow,
  branchShape,
  type HeadMoveRow,
  headMoveShape,
  type MessageRow,
  type ModelCallRow,
  messageShape,
  modelCallShape,
  type ParentTurn,
  type PinRow,
  parentShape,
  pinShape,
  type SessionLease,
  type StoredAnswerRow,
  storedAnswerShape,
  type TableShape,
  type TurnRow,
  turnShape,
} from "./rows.js";
import { type LeaseWrite, writeLeases } from "./write-leases.js";

/** What a write finds when its transaction begins. Locked until the transaction ends. */
export interface TurnState {
  readonly session: LockedSession | undefined;
  /** The open turn that is written to; undefined for a new one. */
  readonly turn: TurnRow | undefined;
  /** The messages of that turn, where the write asked for them. */
  readonly wires: readonly Buffer[];
  readonly parent: ParentTurn | undefined;
  /** Whether the place after the parent on the parent's branch is taken. */
  readonly slotTaken: boolean;
  /** The open turn whose lease the write may take; undefined where it may take none from another. */
  readonly leased: OpenTurn | undefined;
}

/** A turn that a write ends besides its own, and its place if it got one. */
export interface EndedTurn {
  readonly turn: TurnRow;
  readonly branch: BranchRow | undefined;
  readonly headMove: HeadMoveRow | undefined;
}

/** What a write changes. Everything in it happens, or nothing. */
export interface TurnChange<Answer> {
  readonly turn: TurnRow;
  readonly messages?: MessageRow | undefined;
  readonly calls?: readonly ModelCallRow[];
  readonly branch?: BranchRow | undefined;
  /** Places the earlier messages of the turn on its branch. */
  readonly placeMessages?: boolean;
  /** Whether the turn got another parent than it began under: what was made for it under that one does not hold. */
  readonly reparented?: boolean;
  readonly headMove?: HeadMoveRow | undefined;
  /** The context that the turn answers to, which the session's next one should begin with. */
  readonly pin?: PinRow | undefined;
  /** The session's lease, where it is not what it was. */
  readonly lease?: SessionLease | undefined;
  /** The turn that had the lease before. */
  readonly interrupted?: EndedTurn | undefined;
  readonly answer: Answer;
}

/** One write to a thread: where it goes, and what to do there. */
export interface TurnWrite<Answer> extends QueuedJob {
  readonly key: WriteKey<Answer>;
  readonly createdUs: bigint;
  /** A new turn, under a session and a parent; or an open turn. */
  readonly target:
    | {
        readonly kind: "session";
        readonly session: string;
        /** Undefined for whatever the session's head is. */
        readonly parentTurnId: string | undefined;
        /** Undefined where it takes none. */
        readonly leaseFrom?: LeaseFrom | undefined;
      }
    | {
        readonly kind: "turn";
        readonly turnId: string;
        readonly withMessages: boolean;
        /** Whether the parent to look at is the session's head, and not the turn's own. */
        readonly atHead?: boolean;
      };
  /** Pure. Throws a QuireError to refuse; then nothing of this write is stored, and the others of its batch go on. */
  plan(state: TurnState): TurnChange<Answer>;
}

type AnyWrite = TurnWrite<unknown>;

export class TurnWriter {
  private readonly queue: WriteQueue<AnyWrite, unknown>;

  constructor(
    private readonly database: Database,
    private readonly onWritten: () => void = () => undefined,
  ) {
    this.queue = new WriteQueue<AnyWrite, unknown>({
      run: (writes) => this.database.sqlTransaction((sql) => new TurnBatch(sql, writes).run()),
      mayRetry: (error, attempt) => isRaceLost(error) && attempt <= raceRetries,
      failsAll,
      maxJobs: 64,
      maxBytes: 4 * 1024 * 1024,
    });
  }

  async write<Answer>(write: TurnWrite<Answer>): Promise<Answer> {
    try {
      const answer = (await this.queue.submit(write as AnyWrite)) as Answer;
      this.onWritten();
      return answer;
    } catch (error) {
      throw asStorageError(error);
    }
  }

  idle(): Promise<void> {
    return this.queue.idle();
  }
}

const largeBytes = 1024 * 1024;
/** Databases bound the values of one statement, and a write may report many calls. */
const callsPerInsert = 64;

const tenantOf = (write: AnyWrite) => write.key.tenantId;

/** One transaction's worth of writes, with one statement per table. */
class TurnBatch {
  private readonly outcomes = new Map<AnyWrite, Outcome<unknown>>();
  private readonly newTurns: TurnRow[] = [];
  private readonly changedTurns: TurnRow[] = [];
  private readonly messages: MessageRow[] = [];
  private readonly calls: ModelCallRow[] = [];
  private readonly branches: BranchRow[] = [];
  private readonly headMoves: { readonly move: HeadMoveRow; readonly turn: TurnRow }[] = [];
  private readonly answers: StoredAnswerRow[] = [];
  private readonly placed: TurnRow[] = [];
  private readonly reparented: TurnRow[] = [];
  private readonly pins: PinRow[] = [];
  private readonly leases: LeaseWrite[] = [];

  constructor(
    private readonly sql: Sql,
    private readonly writes: readonly AnyWrite[],
  ) {}

  async run(): Promise<Outcome<unknown>[]> {
    await this.shareErasureLock();
    await this.replayAnswered();
    await this.planPending();
    if (this.sql.dialect === "postgresql") await this.replayRefused();
    await this.letOthersRun();
    await this.store();
    await this.letOthersRun();
    return this.writes.map((write) => this.outcomes.get(write) ?? { kind: "deferred" });
  }

  /** To hash, to store and to commit a large turn takes a while each, and SQLite does it in this thread. */
  private async letOthersRun(): Promise<void> {
    const bytes = this.writes.reduce((sum, write) => sum + write.bytes, 0);
    if (bytes > largeBytes) await new Promise((resolve) => setImmediate(resolve));
  }

  /** An erasure decides from all heads what to remove, so no head may move meanwhile. SQLite has one writer anyway. */
  private async shareErasureLock(): Promise<void> {
    if (this.sql.dialect === "sqlite") return;
    for (const tenantId of [...new Set(this.writes.map(tenantOf))].sort()) {
      await this.sql.execute(shareErasureLock, [tenantId]);
    }
  }

  private async replayAnswered(): Promise<void> {
    const seen = new Set<string>();
    await this.readAnswers(this.writes, (write, name, answer) => {
      if (answer) this.replay(write, answer);
      // The same id twice in one batch: the second one waits for the first one's answer.
      else if (seen.has(name)) this.outcomes.set(write, { kind: "deferred" });
      seen.add(name);
    });
  }

  /**
   * Another server may have done this very request while this one waited for its session, and may be the reason for the
   * refusal. What it did is visible by now, and so is its answer.
   */
  private async replayRefused(): Promise<void> {
    const refused = this.writes.filter((write) => this.outcomes.get(write)?.kind === "failed");
    await this.readAnswers(refused, (write, _, answer) => {
      if (answer) this.replay(write, answer);
    });
  }

  private replay(write: AnyWrite, answer: StoredAnswerRow): void {
    const outcome = attempt(() => replayAnswer(write.key, answer));
    this.outcomes.set(write, outcome);
  }

  private async readAnswers(
    writes: readonly AnyWrite[],
    found: (write: AnyWrite, name: string, answer: StoredAnswerRow | undefined) => void,
  ): Promise<void> {
    const named = writes.filter((write) => write.key.requestId !== "");
    for (const [method, group] of groupBy(named, (write) => `${tenantOf(write)}\n${write.key.method}`)) {
      const { key } = group[0]!;
      const rows = await this.sql.query(
        `SELECT ${storedAnswerShape.columnList} FROM stored_answers WHERE tenant_id = ? AND method = ? AND request_id IN (${list(group.length)})`,
        [key.tenantId, key.method, ...group.map((write) => write.key.requestId)],
      );
      const stored = new Map(
        rows.map((row) => storedAnswerShape.read(row)!).map((row) => [row.requestId, row]),
      );
      for (const write of group) {
        found(write, `${method}\n${write.key.requestId}`, stored.get(write.key.requestId));
      }
    }
  }

  private async planPending(): Promise<void> {
    const byTenant = [...groupBy(this.pending(), tenantOf)].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [tenantId, writes] of byTenant) {
      const open = await this.readOpenTurns(tenantId, writes, await findLeased(this.sql, tenantId, writes));
      const sessions = await lockSessions(this.sql, tenantId, sessionNames(writes, open));
      const parentIds = new Map(writes.map((write) => [write, parentIdOf(write, sessions, open)]));
      const parents = await this.readParents(tenantId, new Set(parentIds.values()));
      const busySessions = new Set<string>();
      const takenSlots = new Set<string>();
      for (const write of writes) {
        const { target } = write;
        const turn = target.kind === "turn" ? open.get(target.turnId) : undefined;
        const session = sessions.get(
          target.kind === "session" ? target.session : (turn?.row.sessionId ?? ""),
        );
        // What this batch does to a session is not in its state yet: a second write to it goes into the next one.
        if (session && busySessions.has(session.id)) continue;
        const parent = parents.get(parentIds.get(write)!);
        const slot = parent ? `${parent.row.branchId}/${parent.row.depth! + 1}` : "";
        const state: TurnState = {
          session,
          turn: turn?.row,
          wires: turn?.wires ?? [],
          parent: parent?.row,
          slotTaken: (parent?.slotTaken ?? false) || takenSlots.has(slot),
          leased: leasedBy(session, write, open),
        };
        const planned = attempt(() => write.plan(state));
        if (planned.kind !== "done") {
          this.outcomes.set(write, planned);
          continue;
        }
        this.take(write, planned.answer);
        if (session) busySessions.add(session.id);
        for (const placed of [planned.answer.turn, planned.answer.interrupted?.turn])
          if (placed && placed.branchId !== null) takenSlots.add(`${placed.branchId}/${placed.depth}`);
      }
    }
  }

  private pending(): AnyWrite[] {
    return this.writes.filter((write) => !this.outcomes.has(write));
  }

  private take(write: AnyWrite, change: TurnChange<unknown>): void {
    (write.target.kind === "session" ? this.newTurns : this.changedTurns).push(change.turn);
    if (change.messages) this.messages.push(change.messages);
    for (const call of change.calls ?? []) this.calls.push(call);
    if (change.branch) this.branches.push(change.branch);
    if (change.placeMessages) this.placed.push(change.turn);
    if (change.reparented) this.reparented.push(change.turn);
    if (change.pin) this.pins.push(change.pin);
    if (change.headMove) this.headMoves.push({ move: change.headMove, turn: change.turn });
    if (change.interrupted) this.takeEnded(change.interrupted);
    const { tenantId, sessionId } = change.turn;
    if (change.lease) this.leases.push({ tenantId, sessionId, lease: change.lease });
    if (write.key.requestId !== "") {
      this.answers.push(storedAnswerRow(write.key, change.answer, change.turn.sessionId, write.createdUs));
    }
    this.outcomes.set(write, { kind: "done", answer: change.answer });
  }

  private takeEnded({ turn, branch, headMove }: EndedTurn): void {
    this.changedTurns.push(turn);
    if (branch) this.branches.push(branch);
    if (!headMove) return;
    this.placed.push(turn);
    this.headMoves.push({ move: headMove, turn });
  }

  /** The open turns of the batch. Locks them in one order, before their sessions: what is read is still so when it is changed. */
  private async readOpenTurns(tenantId: string, writes: readonly AnyWrite[], leased: readonly string[]) {
    const found = new Map<string, { readonly row: TurnRow; readonly wires: Buffer[] }>();
    const withMessages = new Map<string, boolean>(leased.map((turnId) => [turnId, true]));
    for (const { target } of writes) {
      if (target.kind !== "turn") continue;
      withMessages.set(target.turnId, target.withMessages || withMessages.get(target.turnId) === true);
    }
    if (withMessages.size === 0) return found;
    const ids = [...withMessages.keys()];
    const rows = await this.sql.query(
      `${selectTurns} WHERE tenant_id = ? AND id IN (${list(ids.length)})${lockRows(this.sql)}`,
      [tenantId, ...ids],
    );
    for (const row of rows.map((values) => turnShape.read(values)!)) found.set(row.id, { row, wires: [] });
    const read = ids.filter((id) => withMessages.get(id) && found.has(id));
    if (read.length === 0) return found;
    const wires = await this.sql.query(selectWires(read.length), [tenantId, ...read]);
    for (const [turnId, wire] of wires) found.get(turnId as string)!.wires.push(asBuffer(wire));
    return found;
  }

  private async readParents(tenantId: string, parentIds: ReadonlySet<string>) {
    const ids = [...parentIds].filter((id) => id !== "");
    const found = new Map<string, { readonly row: ParentTurn; readonly slotTaken: boolean }>();
    if (ids.length === 0) return found;
    const rows = await this.sql.query(`${selectParents} IN (${list(ids.length)})`, [tenantId, ...ids]);
    for (const values of rows) {
      const row = parentShape.read(values)!;
      found.set(row.id, { row, slotTaken: values[parentShape.columns.length] !== null });
    }
    return found;
  }

  private async store(): Promise<void> {
    await this.insert(branchShape, this.branches, "");
    await this.insert(turnShape, this.newTurns, "");
    await this.insert(turnShape, this.changedTurns, upsertTurn);
    await this.insert(messageShape, this.messages, "");
    for (let at = 0; at < this.calls.length; at += callsPerInsert)
      await this.insert(modelCallShape, this.calls.slice(at, at + callsPerInsert), "");
    await this.letOthersRun();
    for (const { tenantId, sessionId, id } of this.reparented) {
      await this.sql.execute(deleteHeldSql, [tenantId, tenantId, id]);
      await this.sql.execute(deleteCompactionsSql, [tenantId, id]);
      await this.sql.execute(deletePinsSql, [tenantId, sessionId, id]);
    }
    for (const { branchId, depth, tenantId, id } of this.placed) {
      await this.sql.execute(placeMessagesSql, [branchId, depth, tenantId, id]);
      await this.sql.execute(placeCompactionsSql, [branchId, depth, tenantId, id]);
    }
    await this.moveHeads();
    const moves = this.headMoves.map(({ move }) => move);
    await this.insert(headMoveShape, moves, "");
    await writeLeases(this.sql, this.leases);
    await this.insert(storedAnswerShape, this.answers, "");
    await this.insert(pinShape, this.pins, upsertPin);
    await this.letSearchKnow();
  }

  /** Turns that got their place are found by searches from now on. To take them apart here would cost the writer more than to write them. */
  private async letSearchKnow(): Promise<void> {
    const placed = [...this.newTurns, ...this.changedTurns].filter(({ branchId }) => branchId !== null);
    await markPending(
      this.sql,
      placed.map(({ tenantId, id }) => ({ tenantId, kind: "turn", refId: id })),
    );
  }

  private async insert<Row>(shape: TableShape<Row>, rows: readonly Row[], onConflict: string): Promise<void> {
    if (rows.length === 0) return;
    const args: SqlValue[] = [];
    for (const row of rows) shape.args(row, args);
    await this.sql.execute(shape.insertSql(rows.length, this.sql.dialect) + onConflict, args);
  }

  /** Every move is conditional on the head it was planned from; one that no longer holds undoes the batch. */
  private async moveHeads(): Promise<void> {
    if (this.headMoves.length === 0) return;
    const args: SqlValue[] = [];
    for (const { move, turn } of this.headMoves) {
      const { tenantId, sessionId, sequence, createdUs } = move;
      args.push(tenantId, sessionId, sequence, turn.id, turn.branchId, turn.depth, createdUs);
    }
    const moved = await this.sql.execute(moveHeadsSql(this.headMoves.length, this.sql.dialect), args);
    const isWhole = moved === this.headMoves.length;
    if (!isWhole) throw new Error("a session's head moved under the batch that had read it");
  }
}

/** The PostgreSQL lock that writers of a tenant share and an erasure holds alone. */
export function erasureLock(function_: string, parameter: string): string {
  return `SELECT ${function_}(hashtextextended('quire-erasure/' || CAST(${parameter} AS TEXT), 0))`;
}

const shareErasureLock = erasureLock("pg_advisory_xact_lock_shared", "?");

const selectTurns = `SELECT ${turnShape.columnList} FROM turns`;
const selectWires = (turns: number) =>
  `SELECT turn_id, wire FROM messages WHERE tenant_id = ? AND turn_id IN (${list(turns)}) ORDER BY turn_id, first_index`;
const selectParents = `SELECT ${parentShape.columnsOf("t")}, next.id FROM turns t LEFT JOIN turns next ON next.tenant_id = t.tenant_id AND next.branch_id = t.branch_id AND next.depth = t.depth + 1 WHERE t.tenant_id = ? AND t.id`;
const upsertTurn = ` ON CONFLICT (tenant_id, id) DO UPDATE SET ${turnShape.columns
  .slice(2)
  .map(([, column]) => `${column} = excluded.${column}`)
  .join(", ")}`;
const upsertPin =
  " ON CONFLICT (tenant_id, session_id, model, role, replay, limit_tokens) DO UPDATE SET assembly_id = excluded.assembly_id, compaction_id = excluded.compaction_id, turn_id = excluded.turn_id, pinned_us = excluded.pinned_us";
const placeMessagesSql = "UPDATE messages SET branch_id = ?, depth = ? WHERE tenant_id = ? AND turn_id = ?";
const placeCompactionsSql =
  "UPDATE compactions SET branch_id = ?, depth = ? WHERE tenant_id = ? AND anchor_turn_id = ?";

const deleteHeldSql =
  "DELETE FROM session_compactions WHERE tenant_id = ? AND compaction_id IN (SELECT id FROM compactions WHERE tenant_id = ? AND anchor_turn_id = ?)";
const deleteCompactionsSql = "DELETE FROM compactions WHERE tenant_id = ? AND anchor_turn_id = ?";
const deletePinsSql = "DELETE FROM context_pins WHERE tenant_id = ? AND session_id = ? AND turn_id = ?";

function moveHeadsSql(count: number, dialect: Dialect): string {
  // As with inserts: nothing of a batch is kept when a statement of it fails.
  const update = dialect === "sqlite" ? "UPDATE OR FAIL" : "UPDATE";
  const row =
    "(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS INTEGER), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS INTEGER), CAST(? AS BIGINT))";
  return `WITH moves (tenant_id, session_id, sequence, turn_id, branch_id, depth, moved_us) AS (VALUES ${Array(count).fill(row).join(",")})
${update} sessions SET head_turn_id = moves.turn_id, head_branch_id = moves.branch_id, head_depth = moves.depth,
  head_sequence = moves.sequence, updated_us = moves.moved_us
FROM moves WHERE sessions.tenant_id = moves.tenant_id AND sessions.id = moves.session_id
  AND sessions.head_sequence = moves.sequence - 1`;
}

/** The turn that a write goes after; empty for none. */
function parentIdOf(
  { target }: AnyWrite,
  sessions: ReadonlyMap<string, LockedSession>,
  open: ReadonlyMap<string, OpenTurn>,
): string {
  if (target.kind === "session") return target.parentTurnId ?? sessions.get(target.session)?.headTurnId ?? "";
  const turn = open.get(target.turnId)?.row;
  return (target.atHead ? sessions.get(turn?.sessionId ?? "")?.headTurnId : turn?.parentTurnId) ?? "";
}

/** What the writes call their sessions. */
function sessionNames(writes: readonly AnyWrite[], open: ReadonlyMap<string, OpenTurn>): Set<string> {
  const names = new Set<string>();
  for (const { target } of writes) {
    if (target.kind === "session") names.add(target.session);
    else if (open.has(target.turnId)) names.add(open.get(target.turnId)!.row.sessionId);
  }
  return names;
}

function attempt<T>(work: () => T): { kind: "done"; answer: T } | { kind: "failed"; error: unknown } {
  try {
    return { kind: "done", answer: work() };
  } catch (error) {
    return { kind: "failed", error };
  }
}
