import type * as models from "../gen/sqlite/models.js";
import { asBigInt, asBuffer, type Dialect, placeholders, type SqlRow, type SqlValue } from "../sql.js";

export type SessionRow = models.SessionModel;
export type TurnRow = models.TurnModel;
export type MessageRow = models.MessageRowModel;
export type HeadMoveRow = models.HeadMoveModel;
export type BranchRow = models.BranchModel;
export type StoredAnswerRow = models.StoredAnswerModel;
export type CompactionRow = models.CompactionModel;
export type SessionCompactionRow = models.SessionCompactionModel;
export type PinRow = models.ContextPinModel;
export type SessionMetadataRow = models.SessionMetadataModel;
export type ModelCallRow = models.ModelCallModel;

/** What a write needs to know of the turn it is written under. */
export type ParentTurn = Pick<
  TurnRow,
  | "tenantId"
  | "id"
  | "branchId"
  | "depth"
  | "status"
  | "openStateJson"
  | "chainHash"
  | "completedUs"
  | "assemblyId"
  | "threadTokens"
  | "threadContextTokens"
  | "threadMessages"
  | "interruptedByTurnId"
>;

/** Which open turn has a session, and until when by the database's clock; all null where none has. */
export type SessionLease = Pick<
  SessionRow,
  "leaseTurnId" | "leaseExpiresUs" | "leaseSeconds" | "leaseHolder"
>;

export const noLease: SessionLease = {
  leaseTurnId: null,
  leaseExpiresUs: null,
  leaseSeconds: null,
  leaseHolder: null,
};

/** What a write to a session's thread needs to know of the session. */
export type SessionHead = SessionLease &
  Pick<
    SessionRow,
    | "tenantId"
    | "id"
    | "label"
    | "headTurnId"
    | "headBranchId"
    | "headDepth"
    | "headSequence"
    | "workspacePath"
  >;

/** What an assembly needs to know of a session beside its thread. */
export type SessionMemory = Pick<
  SessionRow,
  "id" | "task" | "defaultsJson" | "toolsJson" | "parentSessionId" | "parentTurnId" | "reportedLimitsJson"
>;

type Kind = "text" | "int" | "bigint" | "bytes";
type Columns<Row> = readonly (readonly [key: keyof Row & string, column: string, kind: Kind])[];

/**
 * A statement that fails undoes what it did, unless it is told not to: SQLite keeps a copy of every page that it changes for that, in
 * a temporary file when they are many. Here the whole transaction is undone.
 */
const insertInto: Readonly<Record<Dialect, string>> = {
  sqlite: "INSERT OR FAIL INTO",
  postgresql: "INSERT INTO",
};

/** A table for hand-written SQL: which column holds which property of its row. */
export class TableShape<Row> {
  readonly columnList: string;
  private readonly inserts: Record<Dialect, (string | undefined)[]> = { sqlite: [], postgresql: [] };
  /** Has all properties already: an object that gets them one by one is slow to make. */
  private readonly blank: Readonly<Record<string, unknown>>;

  constructor(
    readonly table: string,
    readonly columns: Columns<Row>,
  ) {
    this.columnList = columns.map(([, column]) => column).join(",");
    this.blank = Object.fromEntries(columns.map(([key]) => [key, null]));
  }

  /** `t.a,t.b` */
  columnsOf(alias: string): string {
    return this.columns.map(([, column]) => `${alias}.${column}`).join(",");
  }

  /** An INSERT of so many rows. Made once for each count: the texts are long, and the same few are used again and again. */
  insertSql(rows: number, dialect: Dialect): string {
    let text = this.inserts[dialect][rows];
    if (text === undefined) {
      text = `${insertInto[dialect]} ${this.table} (${this.columnList}) VALUES ${placeholders(rows, this.columns.length)}`;
      this.inserts[dialect][rows] = text;
    }
    return text;
  }

  args(row: Row, into: SqlValue[]): void {
    for (const [key] of this.columns) into.push(row[key] as SqlValue);
  }

  /** The row that starts at an offset of a result row; undefined where an outer join found none. */
  read(values: SqlRow, offset = 0): Row | undefined {
    if (values[offset] === null) return undefined;
    const row: Record<string, unknown> = { ...this.blank };
    let at = offset;
    for (const [key, , kind] of this.columns) {
      const value = values[at++];
      if (value !== null) row[key] = fromDriver(value, kind);
    }
    return row as Row;
  }
}

function fromDriver(value: unknown, kind: Kind): unknown {
  if (kind === "text") return value;
  if (kind === "int") return Number(value);
  return kind === "bigint" ? asBigInt(value) : asBuffer(value);
}

const leaseColumns: Columns<SessionLease> = [
  ["leaseTurnId", "lease_turn_id", "text"],
  ["leaseExpiresUs", "lease_expires_us", "bigint"],
  ["leaseSeconds", "lease_seconds", "int"],
  ["leaseHolder", "lease_holder", "text"],
];

export const leaseShape = new TableShape<SessionLease>("sessions", leaseColumns);

export const sessionHeadShape = new TableShape<SessionHead>("sessions", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["label", "label", "text"],
  ["headTurnId", "head_turn_id", "text"],
  ["headBranchId", "head_branch_id", "text"],
  ["headDepth", "head_depth", "int"],
  ["headSequence", "head_sequence", "int"],
  ["workspacePath", "workspace_path", "text"],
  ...leaseColumns,
]);

export const sessionMemoryShape = new TableShape<SessionMemory>("sessions", [
  ["id", "id", "text"],
  ["task", "task", "text"],
  ["defaultsJson", "defaults_json", "text"],
  ["toolsJson", "tools_json", "text"],
  ["parentSessionId", "parent_session_id", "text"],
  ["parentTurnId", "parent_turn_id", "text"],
  ["reportedLimitsJson", "reported_limits_json", "text"],
]);

export const sessionShape = new TableShape<SessionRow>("sessions", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["label", "label", "text"],
  ["headTurnId", "head_turn_id", "text"],
  ["headBranchId", "head_branch_id", "text"],
  ["headDepth", "head_depth", "int"],
  ["headSequence", "head_sequence", "int"],
  ["workspacePath", "workspace_path", "text"],
  ["metadataJson", "metadata_json", "text"],
  ["forkedFromTurnId", "forked_from_turn_id", "text"],
  ["forkedFromSessionId", "forked_from_session_id", "text"],
  ["forkCount", "fork_count", "int"],
  ["parentSessionId", "parent_session_id", "text"],
  ["parentTurnId", "parent_turn_id", "text"],
  ["spawningCallId", "spawning_call_id", "text"],
  ["task", "task", "text"],
  ["taskStatus", "task_status", "text"],
  ["defaultsJson", "defaults_json", "text"],
  ["toolsJson", "tools_json", "text"],
  ["reportedLimitsJson", "reported_limits_json", "text"],
  ...leaseColumns,
  ["createdUs", "created_us", "bigint"],
  ["updatedUs", "updated_us", "bigint"],
]);

export const parentShape = new TableShape<ParentTurn>("turns", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["status", "status", "text"],
  ["openStateJson", "open_state_json", "text"],
  ["chainHash", "chain_hash", "bytes"],
  ["completedUs", "completed_us", "bigint"],
  ["assemblyId", "assembly_id", "text"],
  ["threadTokens", "thread_tokens", "bigint"],
  ["threadContextTokens", "thread_context_tokens", "bigint"],
  ["threadMessages", "thread_messages", "bigint"],
  ["interruptedByTurnId", "interrupted_by_turn_id", "text"],
]);

export const turnShape = new TableShape<TurnRow>("turns", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["sessionId", "session_id", "text"],
  ["parentTurnId", "parent_turn_id", "text"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["status", "status", "text"],
  ["agentRole", "agent_role", "text"],
  ["model", "model", "text"],
  ["provider", "provider", "text"],
  ["toolset", "toolset", "text"],
  ["permissionsGrantedJson", "permissions_granted_json", "text"],
  ["permissionsUsedJson", "permissions_used_json", "text"],
  ["sourceEventJson", "source_event_json", "text"],
  ["workspacePath", "workspace_path", "text"],
  ["metadataJson", "metadata_json", "text"],
  ["inputTokens", "input_tokens", "bigint"],
  ["outputTokens", "output_tokens", "bigint"],
  ["cachedInputTokens", "cached_input_tokens", "bigint"],
  ["cacheWriteTokens", "cache_write_tokens", "bigint"],
  ["reasoningTokens", "reasoning_tokens", "bigint"],
  ["stopReason", "stop_reason", "text"],
  ["error", "error", "text"],
  ["messageCount", "message_count", "int"],
  ["o200kTokens", "o200k_tokens", "bigint"],
  ["contextO200kTokens", "context_o200k_tokens", "bigint"],
  ["openStateJson", "open_state_json", "text"],
  ["abandonedItemsJson", "abandoned_items_json", "text"],
  ["contentHash", "content_hash", "bytes"],
  ["chainHash", "chain_hash", "bytes"],
  ["createdUs", "created_us", "bigint"],
  ["completedUs", "completed_us", "bigint"],
  ["assemblyId", "assembly_id", "text"],
  ["modelCallCount", "model_call_count", "int"],
  ["threadTokens", "thread_tokens", "bigint"],
  ["threadContextTokens", "thread_context_tokens", "bigint"],
  ["threadMessages", "thread_messages", "bigint"],
  ["interruptedByTurnId", "interrupted_by_turn_id", "text"],
]);

export const modelCallShape = new TableShape<ModelCallRow>("model_calls", [
  ["tenantId", "tenant_id", "text"],
  ["turnId", "turn_id", "text"],
  ["sequence", "sequence", "int"],
  ["model", "model", "text"],
  ["provider", "provider", "text"],
  ["assemblyId", "assembly_id", "text"],
  ["inputTokens", "input_tokens", "bigint"],
  ["outputTokens", "output_tokens", "bigint"],
  ["cachedInputTokens", "cached_input_tokens", "bigint"],
  ["cacheWriteTokens", "cache_write_tokens", "bigint"],
  ["reasoningTokens", "reasoning_tokens", "bigint"],
  ["createdUs", "created_us", "bigint"],
]);

export const messageShape = new TableShape<MessageRow>("messages", [
  ["tenantId", "tenant_id", "text"],
  ["turnId", "turn_id", "text"],
  ["firstIndex", "first_index", "int"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["messageCount", "message_count", "int"],
  ["indexJson", "index_json", "text"],
  ["wire", "wire", "bytes"],
]);

export const branchShape = new TableShape<BranchRow>("branches", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["parentBranchId", "parent_branch_id", "text"],
  ["forkDepth", "fork_depth", "int"],
]);

export const headMoveShape = new TableShape<HeadMoveRow>("head_moves", [
  ["tenantId", "tenant_id", "text"],
  ["sessionId", "session_id", "text"],
  ["sequence", "sequence", "int"],
  ["fromTurnId", "from_turn_id", "text"],
  ["toTurnId", "to_turn_id", "text"],
  ["cause", "cause", "text"],
  ["createdUs", "created_us", "bigint"],
]);

export const storedAnswerShape = new TableShape<StoredAnswerRow>("stored_answers", [
  ["tenantId", "tenant_id", "text"],
  ["method", "method", "text"],
  ["requestId", "request_id", "text"],
  ["requestHash", "request_hash", "bytes"],
  ["answer", "answer", "bytes"],
  ["sessionId", "session_id", "text"],
  ["createdUs", "created_us", "bigint"],
]);

export const compactionShape = new TableShape<CompactionRow>("compactions", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["sessionId", "session_id", "text"],
  ["anchorTurnId", "anchor_turn_id", "text"],
  ["recoveredCall", "recovered_call", "text"],
  ["branchId", "branch_id", "text"],
  ["depth", "depth", "int"],
  ["previousId", "previous_id", "text"],
  ["lastSummarizedTurnId", "last_summarized_turn_id", "text"],
  ["firstKeptTurnId", "first_kept_turn_id", "text"],
  ["firstKeptMessageIndex", "first_kept_message_index", "int"],
  ["summarizedTurns", "summarized_turns", "int"],
  ["trigger", "trigger", "text"],
  ["strategy", "strategy", "text"],
  ["parametersJson", "parameters_json", "text"],
  ["summarizer", "summarizer", "text"],
  ["provider", "provider", "text"],
  ["model", "model", "text"],
  ["tokensBefore", "tokens_before", "bigint"],
  ["tokensAfter", "tokens_after", "bigint"],
  ["summaryTokens", "summary_tokens", "int"],
  ["inputTokens", "input_tokens", "bigint"],
  ["outputTokens", "output_tokens", "bigint"],
  ["durationMs", "duration_ms", "int"],
  ["instructions", "instructions", "text"],
  ["floorsJson", "floors_json", "text"],
  ["failuresJson", "failures_json", "text"],
  ["wire", "wire", "bytes"],
  ["wordsJson", "words_json", "text"],
  ["createdUs", "created_us", "bigint"],
  ["appliedUs", "applied_us", "bigint"],
  ["goal", "goal", "text"],
  ["reuseKey", "reuse_key", "bytes"],
]);

export const pinShape = new TableShape<PinRow>("context_pins", [
  ["tenantId", "tenant_id", "text"],
  ["sessionId", "session_id", "text"],
  ["model", "model", "text"],
  ["role", "role", "text"],
  ["replay", "replay", "text"],
  ["limitTokens", "limit_tokens", "int"],
  ["assemblyId", "assembly_id", "text"],
  ["compactionId", "compaction_id", "text"],
  ["turnId", "turn_id", "text"],
  ["pinnedUs", "pinned_us", "bigint"],
]);
