import { shortKey } from "../../domain/short-key.js";
import type { Soon } from "../../domain/soon.js";
import type { Database } from "../database.js";
import type { RememberedRead } from "../remembered-reads.js";
import { asBigInt, asBuffer, list, type SqlRow, type SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import type { RevisionRow } from "./rows.js";

/** Which block an agent has, and at which revision. */
export interface AgentBlockRow {
  readonly id: string;
  readonly ownerKind: string;
  readonly ownerName: string;
  readonly label: string;
  readonly type: string;
  readonly pinned: boolean;
  readonly revision: number;
  /** Undefined for the agent's own. */
  readonly sharePermission: string | undefined;
}

export interface BlockContent {
  readonly description: string;
  readonly permission: string;
  readonly schema: Buffer;
  readonly revision: number;
  readonly text: Buffer;
  readonly chars: number;
  readonly charLimit: number;
}

/** A block that somebody changed. */
export type ChangedBlockRow = Pick<AgentBlockRow, "id" | "ownerKind" | "ownerName" | "label" | "revision"> & {
  readonly isShared: boolean;
};

export type ChangeRow = Pick<RevisionRow, "kind" | "actorKind" | "actorName" | "createdUs">;

/** Rows, and what stands for them: the same for the same blocks at the same revisions. */
export interface Marked<Row> {
  readonly rows: readonly Row[];
  readonly mark: string;
}

const columns = "b.id, b.owner_kind, b.owner_name, b.label, b.type, b.pinned, b.revision";

/** The blocks of an agent, for its contexts: hand-written, because every assembly asks. */
export class AgentBlocks {
  private readonly inPrompt: RememberedRead<Marked<AgentBlockRow>>;
  private readonly newest: RememberedRead<NewestChange>;
  private readonly changed: RememberedRead<Marked<ChangedBlockRow>>;

  constructor(private readonly database: Database) {
    this.inPrompt = database.remember({
      tables: ["memory_blocks", "memory_shares"],
      text: selectBlocks(0),
      read: readRows,
    });
    this.newest = database.remember({
      tables: ["memory_blocks", "memory_shares"],
      text: selectNewest,
      read: ([row]) => ({
        ownUs: row![0] === null ? 0n : asBigInt(row![0]),
        hasShares: Number(row![1]) === 1,
      }),
    });
    this.changed = database.remember({
      tables: ["memory_blocks", "memory_shares", "memory_revisions"],
      text: selectChanged,
      read: (rows) => marked(rows.map(readChanged), ({ isShared }) => String(isShared)),
    });
  }

  /** The blocks in the system prompt, and those of these labels: the agent's own first, then those shared with it, each in order. */
  find(tenantId: string, agent: string, labels: readonly string[]): Soon<Marked<AgentBlockRow>> {
    if (labels.length === 0) return this.inPrompt(tenantId, agent, tenantId, agent);
    const args = [tenantId, agent, ...labels, tenantId, agent, ...labels];
    return this.query(selectBlocks(labels.length), args).then(readRows);
  }

  /** What is in these blocks, by their ids. */
  async contents(
    tenantId: string,
    rows: readonly AgentBlockRow[],
  ): Promise<ReadonlyMap<string, BlockContent>> {
    if (rows.length === 0) return new Map();
    const found = await this.query(
      `SELECT id, description, permission, schema, revision, text, chars, char_limit FROM memory_blocks
       WHERE tenant_id = ? AND id IN (${list(rows.length)})`,
      [tenantId, ...rows.map(({ id }) => id)],
    );
    return new Map(
      found.map((row) => [
        row[0] as string,
        {
          description: row[1] as string,
          permission: row[2] as string,
          schema: asBuffer(row[3]),
          revision: Number(row[4]),
          text: asBuffer(row[5]),
          chars: Number(row[6]),
          charLimit: Number(row[7]),
        },
      ]),
    );
  }

  /** False where no block of an agent, shared ones included, changed after a time; true where some may have. */
  mayHaveChanged(tenantId: string, agent: string, sinceUs: bigint): Soon<boolean> {
    const newest = this.newest(tenantId, agent, tenantId, agent);
    const isSince = ({ ownUs, hasShares }: NewestChange) => ownUs > sinceUs || hasShares;
    return newest instanceof Promise ? newest.then(isSince) : isSince(newest);
  }

  /** Of an agent's own blocks, and of those shared with it, the ones that changed last. */
  lastChanged(tenantId: string, agent: string): Soon<Marked<ChangedBlockRow>> {
    return this.changed(tenantId, agent, tenantId, agent);
  }

  /** The newest changes of a block up to its revision, the newest first. They stay as they are. */
  async changes(
    tenantId: string,
    { id, revision }: Pick<ChangedBlockRow, "id" | "revision">,
    limit: number,
  ): Promise<readonly ChangeRow[]> {
    const rows = await this.query(
      `SELECT kind, actor_kind, actor_name, created_us FROM memory_revisions
       WHERE tenant_id = ? AND block_id = ? AND revision <= ? ORDER BY revision DESC LIMIT ?`,
      [tenantId, id, revision, limit],
    );
    return rows.map((row) => ({
      kind: row[0] as string,
      actorKind: row[1] as string,
      actorName: row[2] as string,
      createdUs: asBigInt(row[3]),
    }));
  }

  private async query(text: string, args: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    try {
      return await this.database.sqlReader.query(text, args);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function selectBlocks(labels: number): string {
  const named = labels > 0 ? ` OR b.label IN (${list(labels)})` : "";
  const wanted = `(b.type = 'BLOCK_TYPE_CORE' OR (b.type = 'BLOCK_TYPE_WORKING' AND b.pinned)${named})`;
  return `SELECT ${columns}, NULL AS share FROM memory_blocks b
    WHERE b.tenant_id = ? AND b.owner_kind = 'OWNER_KIND_AGENT' AND b.owner_name = ? AND ${wanted}
    UNION ALL
    SELECT ${columns}, s.permission AS share FROM memory_shares s
    JOIN memory_blocks b ON b.tenant_id = s.tenant_id AND b.id = s.block_id
    WHERE s.tenant_id = ? AND s.agent = ? AND ${wanted}`;
}

/** When an agent's own blocks last changed, and whether any are shared with it. Both are seen in indexes: most agents have none, and every assembly asks. */
interface NewestChange {
  readonly ownUs: bigint;
  readonly hasShares: boolean;
}

const selectNewest = `SELECT (SELECT MAX(updated_us) FROM memory_blocks WHERE tenant_id = ? AND owner_kind = 'OWNER_KIND_AGENT'
  AND owner_name = ?), CASE WHEN EXISTS (SELECT 1 FROM memory_shares WHERE tenant_id = ? AND agent = ?) THEN 1 ELSE 0 END`;

const mostChanged = 64;
const changedColumns = "b.id, b.owner_kind, b.owner_name, b.label, b.revision";

/** A shared block's time is read from its newest revision: in its own row it stands behind the whole document. */
const selectChanged = `SELECT * FROM (SELECT ${changedColumns}, b.updated_us AS at, 0 AS shared FROM memory_blocks b
  WHERE b.tenant_id = ? AND b.owner_kind = 'OWNER_KIND_AGENT' AND b.owner_name = ?
  ORDER BY b.updated_us DESC, b.id LIMIT ${mostChanged}) own
  UNION ALL
  SELECT * FROM (SELECT ${changedColumns}, r.created_us AS at, 1 AS shared FROM memory_shares s
  JOIN memory_blocks b ON b.tenant_id = s.tenant_id AND b.id = s.block_id
  JOIN memory_revisions r ON r.tenant_id = b.tenant_id AND r.block_id = b.id AND r.revision = b.revision
  WHERE s.tenant_id = ? AND s.agent = ?
  ORDER BY r.created_us DESC, b.id LIMIT ${mostChanged}) theirs`;

/** Which block a row is of: its first columns. */
function readName(row: SqlRow) {
  return {
    id: row[0] as string,
    ownerKind: row[1] as string,
    ownerName: row[2] as string,
    label: row[3] as string,
  };
}

function readChanged(row: SqlRow): ChangedBlockRow {
  return {
    ...readName(row),
    revision: Number(row[4]),
    isShared: Number(row[6]) === 1,
  };
}

function readRows(rows: readonly SqlRow[]): Marked<AgentBlockRow> {
  return marked(rows.map(readRow).sort(byPlace), ({ sharePermission }) => sharePermission ?? "");
}

function marked<Row extends Pick<AgentBlockRow, "id" | "revision">>(
  rows: readonly Row[],
  shareOf: (row: Row) => string,
): Marked<Row> {
  return { rows, mark: shortKey(rows.map((row) => [row.id, row.revision, shareOf(row)])) };
}

function readRow(row: SqlRow): AgentBlockRow {
  return {
    ...readName(row),
    type: row[4] as string,
    pinned: Boolean(row[5]),
    revision: Number(row[6]),
    sharePermission: (row[7] as string | null) ?? undefined,
  };
}

/** Databases do not agree on the order of texts. */
function byPlace(a: AgentBlockRow, b: AgentBlockRow): number {
  return compare(
    [a.sharePermission === undefined ? "0" : "1", a.ownerKind, a.ownerName, a.label],
    [b.sharePermission === undefined ? "0" : "1", b.ownerKind, b.ownerName, b.label],
  );
}

function compare(a: readonly string[], b: readonly string[]): number {
  for (const [index, text] of a.entries()) if (text !== b[index]) return text < b[index]! ? -1 : 1;
  return 0;
}
