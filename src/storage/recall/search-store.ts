import type { Soon } from "../../domain/soon.js";
import type { Database } from "../database.js";
import type { RememberedRead } from "../remembered-reads.js";
import { asBuffer, list, type Sql, type SqlRow, type SqlValue } from "../sql.js";
import { asStorageError, isRaceLost, raceRetries } from "../storage-error.js";
import { EmbeddingJobs } from "./embedding-jobs.js";
import type { Pending, PendingKind } from "./pending.js";
import {
  columnsShape,
  type DocumentColumns,
  documentShape,
  type NewSearchDocument,
  newDocumentShape,
  type SearchDocumentRow,
} from "./rows.js";
import { findTerms, insertTerms, mergeTerms, type TermKey } from "./term-index.js";

export type DocumentKind = "block" | "archival" | "message";

/** Whose documents of one kind. */
export interface PartitionOwner {
  readonly kind: DocumentKind;
  readonly ownerKind: string;
  readonly ownerName: string;
}

export interface Partition extends PartitionOwner {
  readonly id: number;
}

/** A document that is to be stored, with its terms. */
export interface DocumentDraft {
  readonly owner: PartitionOwner;
  readonly row: Omit<NewSearchDocument, "partitionId" | "tenantId">;
  readonly hashes: readonly number[];
}

/** What became of something that was pending. */
export interface IndexedText extends Pending {
  readonly documents: readonly DocumentDraft[];
  /** The revision that a block was read at. */
  readonly revision?: number | undefined;
}

/** A range of turns of one branch, from its first to a depth. */
export interface ThreadRange {
  readonly branchId: string;
  readonly toDepth: number;
}

const idsPerQuery = 500;

/** Where the texts are that are indexed. */
const textTables = [
  { kind: "turn", table: "turns", condition: "branch_id IS NOT NULL" },
  { kind: "block", table: "memory_blocks", condition: "1 = 1" },
  { kind: "archival", table: "archival_entries", condition: "1 = 1" },
] as const;

/** Search documents, as they are stored. */
export class SearchStore {
  private readonly archives: RememberedRead<number>;

  constructor(
    private readonly database: Database,
    /** Whether documents are to get vectors. */
    private readonly wantsVectors = false,
  ) {
    this.archives = database.remember({
      tables: ["archival_entries"],
      text: `SELECT SUM(o200k_tokens) FROM (SELECT o200k_tokens FROM archival_entries
        WHERE tenant_id = ? AND owner_kind = 'OWNER_KIND_AGENT' AND owner_name = ? LIMIT 256) AS entries`,
      read: ([row]) => Number(row?.[0] ?? 0),
    });
  }

  /** Some of what waits to be indexed, of one tenant or of all. */
  async pending(tenantId: string | undefined, limit: number): Promise<Pending[]> {
    const rows = await this.query(
      `SELECT tenant_id, kind, ref_id FROM search_pending${tenantId === undefined ? "" : " WHERE tenant_id = ?"}
       ORDER BY tenant_id, kind, ref_id LIMIT ?`,
      [...(tenantId === undefined ? [] : [tenantId]), limit],
    );
    return rows.map(([tenant, kind, refId]) => ({
      tenantId: tenant as string,
      kind: kind as PendingKind,
      refId: refId as string,
    }));
  }

  async countPending(tenantId: string | undefined): Promise<number> {
    const [row] = await this.query(
      `SELECT COUNT(*) FROM search_pending${tenantId === undefined ? "" : " WHERE tenant_id = ?"}`,
      tenantId === undefined ? [] : [tenantId],
    );
    return Number(row![0]);
  }

  async countDocuments(): Promise<number> {
    const [row] = await this.query("SELECT COUNT(*) FROM search_documents", []);
    return Number(row![0]);
  }

  /**
   * Stores what was made of pending texts, and that they wait no more. One that was removed meanwhile waits no more, so nothing of it
   * is stored; a block that changed meanwhile goes on waiting.
   */
  async store(texts: readonly IndexedText[]): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await this.database.sqlTransaction(async (sql) => {
          const documentIds = await storeTexts(sql, texts);
          if (this.wantsVectors) await EmbeddingJobs.enlist(sql, documentIds);
        });
        return;
      } catch (error) {
        if (!isRaceLost(error) || attempt >= raceRetries) throw asStorageError(error);
      }
    }
  }

  /** Whether vectors were ever made here. */
  static async hasEmbedder({ sqlReader }: Database): Promise<boolean> {
    return (await sqlReader.query("SELECT 1 FROM search_embedders LIMIT 1", [])).length > 0;
  }

  /** How many texts there are to index. */
  async countTexts(): Promise<number> {
    let total = 0;
    for (const { table, condition } of textTables) {
      const [row] = await this.query(`SELECT COUNT(*) FROM ${table} WHERE ${condition}`, []);
      total += Number(row![0]);
    }
    return total;
  }

  /** Marks everything as waiting, a slice at a time: gives the size of each, and goes on when the next is asked for. */
  async *markAll(): AsyncGenerator<number> {
    for (const { kind, table, condition } of textTables) {
      let after: readonly [string, string] = ["", ""];
      for (;;) {
        const rows = await this.query(
          `SELECT tenant_id, id FROM ${table} WHERE ${condition} AND (tenant_id, id) > (?, ?)
           ORDER BY tenant_id, id LIMIT ${idsPerQuery}`,
          after,
        );
        if (rows.length === 0) break;
        const last = rows.at(-1)!;
        after = [last[0] as string, last[1] as string];
        const args: SqlValue[] = rows.flatMap(([tenant, id]) => [tenant as string, kind, id as string]);
        await this.database.sqlTransaction((sql) => markThose(sql, table, rows.length, args));
        yield rows.length;
      }
    }
  }

  /** Takes what was deleted out of the index for good. */
  async dropDeletedTerms(): Promise<void> {
    while (await this.database.sqlTransaction(mergeTerms));
  }

  /** The partitions of these owners; of the whole tenant where none are named. */
  async partitions(
    tenantId: string,
    owners: readonly PartitionOwner[] | undefined,
    limit: number,
  ): Promise<Partition[]> {
    if (owners?.length === 0) return [];
    const one = "(kind = ? AND owner_kind = ? AND owner_name = ?)";
    const rows = await this.query(
      `SELECT id, kind, owner_kind, owner_name FROM search_partitions WHERE tenant_id = ?${
        owners ? ` AND (${owners.map(() => one).join(" OR ")})` : ""
      } ORDER BY id LIMIT ?`,
      [
        tenantId,
        ...(owners ?? []).flatMap(({ kind, ownerKind, ownerName }) => [kind, ownerKind, ownerName]),
        limit,
      ],
    );
    return rows.map(readPartition);
  }

  /** The documents of a partition after an id, for ranking. */
  async columns(partitionId: number, afterId: number, limit: number): Promise<DocumentColumns[]> {
    const rows = await this.query(
      `SELECT ${columnsShape.columnList} FROM search_documents WHERE partition_id = ? AND id > ? ORDER BY id LIMIT ?`,
      [partitionId, afterId, limit],
    );
    return rows.map((row) => columnsShape.read(row)!);
  }

  async columnsOf(partitionId: number, ids: readonly number[]): Promise<DocumentColumns[]> {
    return this.byIds(ids, async (some) => {
      const rows = await this.query(
        `SELECT ${columnsShape.columnList} FROM search_documents WHERE partition_id = ? AND id IN (${list(some.length)})`,
        [partitionId, ...some],
      );
      return rows.map((row) => columnsShape.read(row)!);
    });
  }

  /** Whole rows; those that are gone are missing. */
  async documents(tenantId: string, ids: readonly number[]): Promise<SearchDocumentRow[]> {
    const rows = await this.byIds(ids, (some) =>
      this.query(
        `SELECT ${documentShape.columnList} FROM search_documents WHERE tenant_id = ? AND id IN (${list(some.length)})`,
        [tenantId, ...some],
      ),
    );
    return rows.map((row) => documentShape.read(row)!);
  }

  /** Every document of a partition whose metadata is not empty, with it; read a few at a time. */
  async *metadata(partitionId: number): AsyncGenerator<readonly [number, string]> {
    for (let after = 0; ; ) {
      const rows = await this.query(
        `SELECT id, metadata_json FROM search_documents WHERE partition_id = ? AND id > ? AND metadata_json <> ''
         ORDER BY id LIMIT ${idsPerQuery}`,
        [partitionId, after],
      );
      for (const [id, json] of rows) yield [Number(id), json as string];
      if (rows.length < idsPerQuery) return;
      after = Number(rows.at(-1)![0]);
    }
  }

  /** The documents that have each of these terms, by how often they have it. */
  terms(terms: readonly (readonly TermKey[])[], pause: () => Promise<void> | undefined) {
    return findTerms(this.database.sqlReader, terms, pause);
  }

  /** How many bytes the messages of turns have in wire form. */
  async messageBytes(tenantId: string, turnIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.byIds(turnIds, (some) =>
      this.query(
        `SELECT turn_id, SUM(LENGTH(wire)) FROM messages WHERE tenant_id = ? AND turn_id IN (${list(some.length)})
         GROUP BY turn_id`,
        [tenantId, ...some],
      ),
    );
    return new Map(rows.map(([turnId, bytes]) => [turnId as string, Number(bytes)]));
  }

  /** The messages of turns in wire form: for each row, the turn, the index of its first message, and the bytes. */
  async messages(tenantId: string, turnIds: readonly string[]) {
    const rows = await this.byIds([...new Set(turnIds)], (some) =>
      this.query(
        `SELECT turn_id, first_index, wire FROM messages WHERE tenant_id = ? AND turn_id IN (${list(some.length)})
         ORDER BY turn_id, first_index`,
        [tenantId, ...some],
      ),
    );
    return rows.map(([turnId, firstIndex, wire]) => ({
      turnId: turnId as string,
      firstIndex: Number(firstIndex),
      wire: asBuffer(wire),
    }));
  }

  /** What the index says of turns: where they stand, whose session they are of, and when they were. */
  async turns(tenantId: string, turnIds: readonly string[]) {
    const rows = await this.byIds(turnIds, (some) =>
      this.query(
        `SELECT t.id, t.session_id, t.branch_id, t.depth, t.created_us, t.metadata_json, s.defaults_json, s.metadata_json
         FROM turns t LEFT JOIN sessions s ON s.tenant_id = t.tenant_id AND s.id = t.session_id
         WHERE t.tenant_id = ? AND t.branch_id IS NOT NULL AND t.id IN (${list(some.length)})`,
        [tenantId, ...some],
      ),
    );
    return rows.map((row) => ({
      id: row[0] as string,
      sessionId: row[1] as string,
      branchId: row[2] as string,
      depth: Number(row[3]),
      createdUs: BigInt(row[4] as string | number | bigint),
      metadataJson: row[5] as string,
      defaultsJson: row[6] as string | null,
      sessionMetadataJson: row[7] as string | null,
    }));
  }

  async blocks(tenantId: string, ids: readonly string[]) {
    const rows = await this.byIds(ids, (some) =>
      this.query(
        `SELECT id, owner_kind, owner_name, label, description, revision, text, o200k_tokens, updated_us
         FROM memory_blocks WHERE tenant_id = ? AND id IN (${list(some.length)})`,
        [tenantId, ...some],
      ),
    );
    return rows.map((row) => ({
      id: row[0] as string,
      ownerKind: row[1] as string,
      ownerName: row[2] as string,
      label: row[3] as string,
      description: row[4] as string,
      revision: Number(row[5]),
      text: asBuffer(row[6]).toString("utf8"),
      o200kTokens: Number(row[7]),
      updatedUs: BigInt(row[8] as string | number | bigint),
    }));
  }

  async archival(tenantId: string, ids: readonly string[]) {
    const rows = await this.byIds(ids, (some) =>
      this.query(
        `SELECT id, owner_kind, owner_name, content, metadata_json, o200k_tokens, created_us
         FROM archival_entries WHERE tenant_id = ? AND id IN (${list(some.length)})`,
        [tenantId, ...some],
      ),
    );
    return rows.map((row) => ({
      id: row[0] as string,
      ownerKind: row[1] as string,
      ownerName: row[2] as string,
      content: asBuffer(row[3]).toString("utf8"),
      metadataJson: row[4] as string,
      o200kTokens: Number(row[5]),
      createdUs: BigInt(row[6] as string | number | bigint),
    }));
  }

  /** What an agent's archive costs; of a large one, what some of it does. */
  archivalTokens(tenantId: string, agent: string): Soon<number> {
    return this.archives(tenantId, agent);
  }

  /** Turns by where they stand; those that are not there are missing. */
  async turnsAt(tenantId: string, places: readonly { readonly branchId: string; readonly depth: number }[]) {
    const rows = await this.byIds(places, (some) =>
      this.query(
        `SELECT id, branch_id, depth FROM turns WHERE tenant_id = ? AND (${some.map(() => "(branch_id = ? AND depth = ?)").join(" OR ")})`,
        [tenantId, ...some.flatMap(({ branchId, depth }) => [branchId, depth])],
      ),
    );
    return rows.map(([id, branchId, depth]) => ({
      id: id as string,
      branchId: branchId as string,
      depth: Number(depth),
    }));
  }

  /** The blocks that are shared with an agent, and who they belong to. */
  async sharedBlocks(tenantId: string, agent: string) {
    const rows = await this.query(
      `SELECT b.id, b.owner_kind, b.owner_name FROM memory_shares s
       JOIN memory_blocks b ON b.tenant_id = s.tenant_id AND b.id = s.block_id
       WHERE s.tenant_id = ? AND s.agent = ?`,
      [tenantId, agent],
    );
    return rows.map(([id, ownerKind, ownerName]) => ({
      id: id as string,
      ownerKind: ownerKind as string,
      ownerName: ownerName as string,
    }));
  }

  /** A session by its id, label or alias: its agent's settings and its head. */
  async session(tenantId: string, name: string) {
    const [row] = await this.query(
      `SELECT id, defaults_json, head_branch_id, head_depth FROM sessions WHERE tenant_id = ? AND (id = ? OR label = ?
       OR id = (SELECT session_id FROM session_aliases WHERE tenant_id = ? AND alias = ?))
       ORDER BY CASE WHEN id = ? THEN 0 WHEN label = ? THEN 1 ELSE 2 END LIMIT 1`,
      [tenantId, name, name, tenantId, name, name, name],
    );
    return (
      row && {
        id: row[0] as string,
        defaultsJson: row[1] as string | null,
        headBranchId: row[2] as string | null,
        headDepth: Number(row[3]),
      }
    );
  }

  /** A thread as ranges of branches, from its end to its beginning. */
  async thread(tenantId: string, branchId: string | null, depth: number): Promise<ThreadRange[]> {
    const ranges: ThreadRange[] = [];
    let at = branchId;
    let toDepth = depth;
    while (at !== null) {
      const [row] = await this.query(
        "SELECT parent_branch_id, fork_depth FROM branches WHERE tenant_id = ? AND id = ?",
        [tenantId, at],
      );
      if (!row) break;
      ranges.push({ branchId: at, toDepth });
      at = row[0] as string | null;
      toDepth = Math.min(toDepth, Number(row[1]));
    }
    return ranges;
  }

  /** The partitions that hold the messages of a thread. Each branch is looked at where it begins and where it ends. */
  async partitionsOfThread(tenantId: string, ranges: readonly ThreadRange[]): Promise<Partition[]> {
    const found = new Map<number, Partition>();
    for (const { branchId, toDepth } of ranges)
      for (const order of ["ASC", "DESC"]) {
        const rows = await this.query(
          `SELECT p.id, p.kind, p.owner_kind, p.owner_name FROM search_documents d
           JOIN search_partitions p ON p.id = d.partition_id
           WHERE d.tenant_id = ? AND d.branch_id = ? AND d.depth <= ? ORDER BY d.depth ${order} LIMIT 1`,
          [tenantId, branchId, toDepth],
        );
        for (const partition of rows.map(readPartition)) found.set(partition.id, partition);
      }
    return [...found.values()];
  }

  /** The documents of these blocks. */
  async documentIds(tenantId: string, refIds: readonly string[]): Promise<number[]> {
    const rows = await this.byIds(refIds, (some) =>
      this.query(`SELECT id FROM search_documents WHERE tenant_id = ? AND ref_id IN (${list(some.length)})`, [
        tenantId,
        ...some,
      ]),
    );
    return rows.map(([id]) => Number(id));
  }

  private async byIds<Id, Row>(
    ids: readonly Id[],
    read: (some: readonly Id[]) => Promise<readonly Row[]>,
  ): Promise<Row[]> {
    const found: Row[] = [];
    for (let at = 0; at < ids.length; at += idsPerQuery)
      found.push(...(await read(ids.slice(at, at + idsPerQuery))));
    return found;
  }

  private async query(text: string, args: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    try {
      return await this.database.sqlReader.query(text, args);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function readPartition([id, kind, ownerKind, ownerName]: SqlRow): Partition {
  return {
    id: Number(id),
    kind: kind as DocumentKind,
    ownerKind: ownerKind as string,
    ownerName: ownerName as string,
  };
}

/** Marks texts that are still there: one that was deleted since it was read is not marked again. */
function markThose(sql: Sql, table: string, count: number, args: readonly SqlValue[]): Promise<number> {
  const [one, more] =
    sql.dialect === "postgresql"
      ? ["(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT))", " FOR KEY SHARE OF t"]
      : ["(?,?,?)", ""];
  const places = Array.from({ length: count }, () => one).join(",");
  return sql.execute(
    `WITH asked (tenant_id, kind, ref_id) AS (VALUES ${places})
     INSERT INTO search_pending (tenant_id, kind, ref_id)
     SELECT a.tenant_id, a.kind, a.ref_id FROM asked a JOIN ${table} t ON t.tenant_id = a.tenant_id AND t.id = a.ref_id
     WHERE 1 = 1${more} ON CONFLICT DO NOTHING`,
    args,
  );
}

/** Gives the new documents. */
async function storeTexts(sql: Sql, texts: readonly IndexedText[]): Promise<number[]> {
  const documentIds: number[] = [];
  const partitions = new Map<string, number>();
  // In one order, so that two servers that index the same texts wait for each other.
  const inOrder = [...texts].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  for (const text of inOrder) {
    const { tenantId, kind, refId, documents, revision } = text;
    if (revision !== undefined) {
      const lock = sql.dialect === "postgresql" ? " FOR SHARE" : "";
      const [row] = await sql.query(
        `SELECT revision FROM memory_blocks WHERE tenant_id = ? AND id = ?${lock}`,
        [tenantId, refId],
      );
      if (row && Number(row[0]) !== revision) continue;
    }
    const waited = await sql.execute(
      "DELETE FROM search_pending WHERE tenant_id = ? AND kind = ? AND ref_id = ?",
      [tenantId, kind, refId],
    );
    if (waited === 0) continue;
    await sql.execute("DELETE FROM search_documents WHERE tenant_id = ? AND ref_id = ?", [tenantId, refId]);
    for (const { owner, row, hashes } of documents) {
      const partitionId = await partitionOf(sql, tenantId, owner, partitions);
      const documentId = await insertDocument(sql, { ...row, tenantId, partitionId });
      await insertTerms(sql, [{ documentId, partitionId, hashes }]);
      documentIds.push(documentId);
    }
  }
  return documentIds;
}

function keyOf({ tenantId, kind, refId }: Pending): string {
  return `${tenantId}\n${kind}\n${refId}`;
}

async function insertDocument(sql: Sql, row: NewSearchDocument): Promise<number> {
  const args: SqlValue[] = [];
  newDocumentShape.args(row, args);
  const [inserted] = await sql.query(`${newDocumentShape.insertSql(1, sql.dialect)} RETURNING id`, args);
  return Number(inserted![0]);
}

async function partitionOf(
  sql: Sql,
  tenantId: string,
  { kind, ownerKind, ownerName }: PartitionOwner,
  known: Map<string, number>,
): Promise<number> {
  const key = JSON.stringify([tenantId, kind, ownerKind, ownerName]);
  const found = known.get(key);
  if (found !== undefined) return found;
  const place = [tenantId, kind, ownerKind, ownerName];
  const select =
    "SELECT id FROM search_partitions WHERE tenant_id = ? AND kind = ? AND owner_kind = ? AND owner_name = ?";
  let [row] = await sql.query(select, place);
  if (!row) {
    await sql.execute(
      "INSERT INTO search_partitions (tenant_id, kind, owner_kind, owner_name) VALUES (?,?,?,?) ON CONFLICT DO NOTHING",
      place,
    );
    [row] = await sql.query(select, place);
  }
  const id = Number(row![0]);
  known.set(key, id);
  return id;
}
