import type { Database } from "../database.js";
import { asBuffer, list, type SqlRow } from "../sql.js";
import { asStorageError } from "../storage-error.js";

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

const columns = "b.id, b.owner_kind, b.owner_name, b.label, b.type, b.pinned, b.revision";

/** The blocks of an agent, for its contexts: hand-written, because every assembly asks. */
export class AgentBlocks {
  constructor(private readonly database: Database) {}

  /** The blocks in the system prompt, and those of these labels: the agent's own first, then those shared with it, each in order. */
  async find(tenantId: string, agent: string, labels: readonly string[]): Promise<AgentBlockRow[]> {
    const named = labels.length > 0 ? ` OR b.label IN (${list(labels.length)})` : "";
    const wanted = `(b.type = 'BLOCK_TYPE_CORE' OR (b.type = 'BLOCK_TYPE_WORKING' AND b.pinned)${named})`;
    const rows = await this.query(
      `SELECT ${columns}, NULL AS share FROM memory_blocks b
       WHERE b.tenant_id = ? AND b.owner_kind = 'OWNER_KIND_AGENT' AND b.owner_name = ? AND ${wanted}
       UNION ALL
       SELECT ${columns}, s.permission AS share FROM memory_shares s
       JOIN memory_blocks b ON b.tenant_id = s.tenant_id AND b.id = s.block_id
       WHERE s.tenant_id = ? AND s.agent = ? AND ${wanted}`,
      [tenantId, agent, ...labels, tenantId, agent, ...labels],
    );
    return rows.map(readRow).sort(byPlace);
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

  private async query(text: string, args: readonly string[]): Promise<readonly SqlRow[]> {
    try {
      return await this.database.sqlReader.query(text, args);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function readRow(row: SqlRow): AgentBlockRow {
  return {
    id: row[0] as string,
    ownerKind: row[1] as string,
    ownerName: row[2] as string,
    label: row[3] as string,
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
