import { groupBy } from "../group-by.js";
import { type StoredAnswerRow, storedAnswerShape } from "../ledger/rows.js";
import { asBuffer, list, type Sql, type SqlRow } from "../sql.js";
import {
  type BlockRow,
  blockShape,
  type RevisionRow,
  revisionShape,
  type ShareRow,
  type SnapshotRow,
  shareShape,
} from "./rows.js";

/** Which block: the owner's kind, its name, and the label. */
export interface BlockPlace {
  readonly ownerKind: string;
  readonly ownerName: string;
  readonly label: string;
}

export type AnswerKey = Pick<StoredAnswerRow, "tenantId" | "method" | "requestId">;

/** A request among those of a tenant; undefined for one that is not to be known again. */
export function answerId({ method, requestId }: AnswerKey): string | undefined {
  return requestId === "" ? undefined : `${method} ${requestId}`;
}

const ofBlock = "tenant_id = ? AND block_id = ?";

/** What is read of blocks, outside of a transaction or in one. */
export class BlockReads {
  constructor(private readonly sql: Sql) {}

  /** A block that no other transaction changes until this one has ended, where that is asked for. */
  async find(tenantId: string, place: BlockPlace, isLocked = false): Promise<BlockRow | undefined> {
    const lock = isLocked && this.sql.dialect === "postgresql" ? " FOR UPDATE" : "";
    const [row] = await this.sql.query(
      `SELECT ${blockShape.columnList}, pinned FROM memory_blocks
       WHERE tenant_id = ? AND owner_kind = ? AND owner_name = ? AND label = ?${lock}`,
      [tenantId, place.ownerKind, place.ownerName, place.label],
    );
    return row && readBlock(row);
  }

  /** The stored answers to these requests, by `answerId`. */
  async answers(keys: readonly AnswerKey[]): Promise<ReadonlyMap<string, StoredAnswerRow>> {
    const found = new Map<string, StoredAnswerRow>();
    const withId = keys.filter(({ requestId }) => requestId !== "");
    for (const [method, some] of groupBy(withId, (key) => key.method)) {
      const rows = await this.sql.query(
        `SELECT ${storedAnswerShape.columnList} FROM stored_answers
         WHERE tenant_id = ? AND method = ? AND request_id IN (${list(some.length)})`,
        [some[0]!.tenantId, method, ...some.map(({ requestId }) => requestId)],
      );
      for (const row of rows) {
        const answer = storedAnswerShape.read(row)!;
        found.set(answerId(answer)!, answer);
      }
    }
    return found;
  }

  async snapshot(tenantId: string, blockId: string): Promise<SnapshotRow> {
    const [row] = await this.sql.query(
      "SELECT snapshot, snapshot_revision FROM memory_blocks WHERE tenant_id = ? AND id = ?",
      [tenantId, blockId],
    );
    return row
      ? { snapshot: asBuffer(row[0]) as unknown as SnapshotRow["snapshot"], snapshotRevision: Number(row[1]) }
      : { snapshot: Buffer.alloc(0) as unknown as SnapshotRow["snapshot"], snapshotRevision: 0 };
  }

  /** At which revision the stored snapshot was made. */
  async snapshotRevision(tenantId: string, blockId: string): Promise<number> {
    const [row] = await this.sql.query(
      "SELECT snapshot_revision FROM memory_blocks WHERE tenant_id = ? AND id = ?",
      [tenantId, blockId],
    );
    return row ? Number(row[0]) : 0;
  }

  /** The updates of the revisions after one, up to another. */
  async updates(tenantId: string, blockId: string, after: number, upTo: number): Promise<Buffer[]> {
    const rows = await this.sql.query(
      `SELECT "update" FROM memory_revisions WHERE ${ofBlock} AND revision > ? AND revision <= ? ORDER BY revision`,
      [tenantId, blockId, after, upTo],
    );
    return rows.map(([update]) => asBuffer(update)).filter((update) => update.length > 0);
  }

  async revision(tenantId: string, blockId: string, revision: number): Promise<RevisionRow | undefined> {
    const [row] = await this.sql.query(
      `SELECT ${revisionShape.columnList} FROM memory_revisions WHERE ${ofBlock} AND revision = ?`,
      [tenantId, blockId, revision],
    );
    return row && revisionShape.read(row);
  }

  /** Revisions before one, newest first. */
  async revisionsBefore(
    tenantId: string,
    blockId: string,
    before: number,
    limit: number,
  ): Promise<RevisionRow[]> {
    const rows = await this.sql.query(
      `SELECT ${revisionShape.columnList} FROM memory_revisions WHERE ${ofBlock} AND revision < ?
       ORDER BY revision DESC LIMIT ?`,
      [tenantId, blockId, before, limit],
    );
    return rows.map((row) => revisionShape.read(row)!);
  }

  /** Revisions after one, oldest first. */
  async revisionsAfter(
    tenantId: string,
    blockId: string,
    after: number,
    limit: number,
  ): Promise<RevisionRow[]> {
    const rows = await this.sql.query(
      `SELECT ${revisionShape.columnList} FROM memory_revisions WHERE ${ofBlock} AND revision > ?
       ORDER BY revision LIMIT ?`,
      [tenantId, blockId, after, limit],
    );
    return rows.map((row) => revisionShape.read(row)!);
  }

  /** The schema that was in force at a revision. */
  async schemaAt(tenantId: string, blockId: string, revision: number): Promise<Buffer | undefined> {
    const [row] = await this.sql.query(
      `SELECT schema FROM memory_revisions WHERE ${ofBlock} AND revision <= ? AND schema IS NOT NULL
       ORDER BY revision DESC LIMIT 1`,
      [tenantId, blockId, revision],
    );
    return row && asBuffer(row[0]);
  }

  /** The blocks of an owner with their revisions, by label; for an agent, those that are shared with it. */
  async watched(
    tenantId: string,
    { ownerKind, ownerName, label, agent }: BlockPlace & { readonly agent: string | undefined },
  ): Promise<{ readonly id: string; readonly label: string; readonly revision: number }[]> {
    const isShared =
      "EXISTS (SELECT 1 FROM memory_shares s WHERE s.tenant_id = b.tenant_id AND s.block_id = b.id AND s.agent = ?)";
    const rows = await this.sql.query(
      `SELECT b.id, b.label, b.revision FROM memory_blocks b
       WHERE b.tenant_id = ? AND b.owner_kind = ? AND b.owner_name = ?${label === "" ? "" : " AND b.label = ?"}${agent === undefined ? "" : ` AND ${isShared}`}
       ORDER BY b.label`,
      [
        tenantId,
        ownerKind,
        ownerName,
        ...(label === "" ? [] : [label]),
        ...(agent === undefined ? [] : [agent]),
      ],
    );
    return rows.map(([id, name, revision]) => ({
      id: id as string,
      label: name as string,
      revision: Number(revision),
    }));
  }

  /** The shares of a block, by agent. */
  async shares(tenantId: string, blockId: string): Promise<ShareRow[]> {
    const rows = await this.sql.query(
      `SELECT ${shareShape.columnList} FROM memory_shares WHERE ${ofBlock} ORDER BY agent`,
      [tenantId, blockId],
    );
    return rows.map((row) => shareShape.read(row)!);
  }

  /** The peers that an actor was given for a block. */
  async peersOf(tenantId: string, blockId: string, actorKind: string, actorName: string): Promise<string[]> {
    const rows = await this.sql.query(
      `SELECT peer FROM memory_peers WHERE ${ofBlock} AND actor_kind = ? AND actor_name = ?`,
      [tenantId, blockId, actorKind, actorName],
    );
    return rows.map(([peer]) => peer as string);
  }

  async countPeers(tenantId: string, blockId: string): Promise<number> {
    const [row] = await this.sql.query(`SELECT COUNT(*) FROM memory_peers WHERE ${ofBlock}`, [
      tenantId,
      blockId,
    ]);
    return Number(row![0]);
  }
}

export const blockColumns = blockShape.columns.length;

/** A row of `columnList, pinned`. SQLite has no booleans. */
export function readBlock(row: SqlRow): BlockRow {
  return { ...blockShape.read(row)!, pinned: Boolean(row[blockColumns]) };
}
