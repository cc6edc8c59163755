import type { Sql } from "../sql.js";
import { type CompactionRow, compactionShape, TableShape } from "./rows.js";
import { isOnThread, type ThreadSegment } from "./thread-store.js";

/** The thread that a compaction is for: the runs of its turns, and the open turn at its end, if it has one. */
export interface CompactedThread {
  readonly segments: readonly ThreadSegment[];
  readonly activeTurn: { readonly id: string } | undefined;
}

/** Where a compaction that a session holds begins to keep, and what it is for; without its summary. */
export interface HeldCompaction {
  readonly id: string;
  readonly anchorTurnId: string;
  readonly branchId: string | null;
  readonly depth: number | null;
  readonly firstKeptTurnId: string;
  readonly firstKeptMessageIndex: number;
  readonly summarizedTurns: number;
  readonly summaryTokens: number;
  readonly goal: string;
  /** Null while it is prepared. */
  readonly appliedUs: bigint | null;
  /** What the thread costs before the kept part: the more, the less it keeps. */
  readonly beforeTokens: bigint;
  readonly beforeContextTokens: bigint;
  readonly beforeMessages: bigint;
  readonly floorModel: string | null;
}

type HoldingKey = "beforeTokens" | "beforeContextTokens" | "beforeMessages" | "floorModel";

const ofCompaction = new TableShape<Omit<HeldCompaction, HoldingKey>>("compactions", [
  ["id", "id", "text"],
  ["anchorTurnId", "anchor_turn_id", "text"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["firstKeptTurnId", "first_kept_turn_id", "text"],
  ["firstKeptMessageIndex", "first_kept_message_index", "int"],
  ["summarizedTurns", "summarized_turns", "int"],
  ["summaryTokens", "summary_tokens", "int"],
  ["goal", "goal", "text"],
  ["appliedUs", "applied_us", "bigint"],
]);
const ofHolding = new TableShape<Pick<HeldCompaction, HoldingKey>>("session_compactions", [
  ["beforeTokens", "before_tokens", "bigint"],
  ["beforeContextTokens", "before_context_tokens", "bigint"],
  ["beforeMessages", "before_messages", "bigint"],
  ["floorModel", "floor_model", "text"],
]);

/** So many are looked at by one statement. Those of other branches are few. */
const pageRows = 16;
const joined = `FROM session_compactions h JOIN compactions c ON c.tenant_id = h.tenant_id AND c.id = h.compaction_id WHERE h.tenant_id = ? AND h.session_id = ?`;
const select = `SELECT ${ofCompaction.columnsOf("c")},${ofHolding.columnsOf("h")} ${joined}`;
const pages = {
  keepingMost: `${select} AND h.before_tokens >= ? ORDER BY h.before_tokens, h.compaction_id DESC LIMIT ${pageRows} OFFSET ?`,
  keepingLeast: `${select} AND h.before_tokens >= ? ORDER BY h.before_tokens DESC, h.compaction_id DESC LIMIT ${pageRows} OFFSET ?`,
  floors: `${select} AND h.floor_model IN ('', ?) ORDER BY h.before_tokens DESC, h.compaction_id DESC LIMIT ${pageRows} OFFSET ?`,
};

/** The compactions that a session holds, of those that hang off a thread. */
export interface HeldBy {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly thread: CompactedThread;
}

/** A compaction that a session holds, as a whole. */
export type HeldRow = CompactionRow & Pick<HeldCompaction, HoldingKey>;

const selectHeld = `SELECT ${compactionShape.columnsOf("c")},${ofHolding.columnsOf("h")} ${joined} AND h.compaction_id = ?`;

/** One of them, by its id. */
export async function heldById(sql: Sql, of: HeldBy, id: string): Promise<HeldRow | undefined> {
  const [row] = await sql.query(selectHeld, [of.tenantId, of.sessionId, id]);
  if (!row) return undefined;
  const held = { ...compactionShape.read(row)!, ...ofHolding.read(row, compactionShape.columns.length)! };
  return hangsOff(of.thread, held) ? held : undefined;
}

/** Those with at least so much before the kept part; the ones that keep most come first. */
export function keepingMost(sql: Sql, of: HeldBy, beforeTokens: bigint): AsyncGenerator<HeldCompaction> {
  return onThread(sql, of, pages.keepingMost, beforeTokens);
}

/** All of them; the ones that keep least come first. */
export function keepingLeast(sql: Sql, of: HeldBy): AsyncGenerator<HeldCompaction> {
  return onThread(sql, of, pages.keepingLeast, 0n);
}

/** Those that bind contexts of a model; the ones that keep least come first. */
export function floorsOf(sql: Sql, of: HeldBy, model: string): AsyncGenerator<HeldCompaction> {
  return onThread(sql, of, pages.floors, model);
}

async function* onThread(
  sql: Sql,
  { tenantId, sessionId, thread }: HeldBy,
  text: string,
  arg: string | bigint,
): AsyncGenerator<HeldCompaction> {
  for (let offset = 0; ; offset += pageRows) {
    const rows = await sql.query(text, [tenantId, sessionId, arg, offset]);
    for (const row of rows) {
      const held = { ...ofCompaction.read(row)!, ...ofHolding.read(row, ofCompaction.columns.length)! };
      if (hangsOff(thread, held)) yield held;
    }
    if (rows.length < pageRows) return;
  }
}

/** Whether a compaction hangs off a turn of the thread. */
export function hangsOff(
  { segments, activeTurn }: CompactedThread,
  compaction: Pick<HeldCompaction, "anchorTurnId" | "branchId" | "depth">,
): boolean {
  return compaction.anchorTurnId === activeTurn?.id || isOnThread(segments, compaction);
}
