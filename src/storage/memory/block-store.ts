import type { Database } from "../database.js";
import { inSlices } from "../in-slices.js";
import { type StoredAnswerRow, storedAnswerShape } from "../ledger/rows.js";
import { forgetDocuments, markPending } from "../recall/pending.js";
import type { Sql, SqlValue } from "../sql.js";
import { asStorageError, isRaceLost } from "../storage-error.js";
import { idempotentWrite, type WriteKey } from "../stored-answers.js";
import { type BlockPlace, BlockReads, readBlock } from "./block-reads.js";
import {
  type ArchivalRow,
  type BlockRow,
  blockShape,
  type PeerRow,
  peerShape,
  type RevisionRow,
  revisionShape,
  type ShareRow,
  shareShape,
} from "./rows.js";

/** What a write to one block stores, all at once. */
export interface BlockCommit {
  readonly tenantId: string;
  /** The block as it was read; undefined where there was none. */
  readonly before: BlockRow | undefined;
  /** The block after the write; undefined where it was removed. */
  readonly after: BlockRow | undefined;
  /** The whole document as of the last revision, where it is time to store it. */
  readonly snapshot: Buffer | undefined;
  readonly revisions: readonly RevisionRow[];
  readonly shares: readonly ShareRow[];
  /** Agents whose shares are removed. */
  readonly unshared: readonly string[];
  readonly peers: readonly PeerRow[];
  readonly answers: readonly StoredAnswerRow[];
}

/** Another server changed the block meanwhile: what was planned on it is planned again. */
class BlockRace extends Error {
  override readonly name = "BlockRace";
}

export interface BlockFilter {
  readonly owner: Pick<BlockPlace, "ownerKind" | "ownerName"> | undefined;
  /** The agent whose blocks and shares are seen; undefined for who sees all. */
  readonly agent: string | undefined;
  readonly type: string | undefined;
  readonly labelPrefix: string;
  readonly shared: boolean | undefined;
}

/** Where a list of blocks goes on: owner kind, owner name, label. */
export type BlockPosition = readonly [ownerKind: string, ownerName: string, label: string];

/** A block, and the permission of the share through which an agent sees it. */
export interface SeenBlock {
  readonly row: BlockRow;
  readonly sharePermission: string | undefined;
}

const insertColumns = "pinned,snapshot,snapshot_revision";
const agentKind = "OWNER_KIND_AGENT";

/** Memory blocks as they are stored. */
export class BlockStore {
  constructor(
    private readonly database: Database,
    private readonly onWritten: () => void = () => undefined,
  ) {}

  get reads(): BlockReads {
    return new BlockReads(this.database.sqlReader);
  }

  async reading<T>(work: (reads: BlockReads) => Promise<T>): Promise<T> {
    try {
      return await work(this.reads);
    } catch (error) {
      throw asStorageError(error);
    }
  }

  /** The same text as before only if nobody else committed anything since. */
  changeMark(): Promise<string> {
    return this.database.changeMark();
  }

  /**
   * Plans a write and stores what was planned. On PostgreSQL both happen in one transaction that has the block to itself; SQLite has
   * one writer, so there the plan is made before the transaction, which then is short. False where another writer was faster
   * all the same: then nothing was stored.
   */
  async write(
    plan: (reads: BlockReads, isLocked: boolean) => Promise<BlockCommit | undefined>,
  ): Promise<boolean> {
    const { database } = this;
    try {
      if (database.dialect === "postgresql") {
        await database.sqlTransaction(async (sql) => {
          const commit = await plan(new BlockReads(sql), true);
          if (commit) await store(sql, commit);
        });
      } else {
        const commit = await plan(this.reads, false);
        if (commit) await database.sqlTransaction((sql) => store(sql, commit));
      }
      this.onWritten();
      return true;
    } catch (error) {
      if (error instanceof BlockRace || isRaceLost(error)) return false;
      throw asStorageError(error);
    }
  }

  /** Blocks after a position, in the order of owner and label. */
  async list(
    tenantId: string,
    filter: BlockFilter,
    after: BlockPosition | undefined,
    limit: number,
  ): Promise<SeenBlock[]> {
    return inSlices(limit, (some, last: SeenBlock | undefined) =>
      this.listSlice(tenantId, filter, last ? positionOf(last.row) : after, some),
    );
  }

  private async listSlice(
    tenantId: string,
    { owner, agent, type, labelPrefix, shared }: BlockFilter,
    after: BlockPosition | undefined,
    limit: number,
  ): Promise<SeenBlock[]> {
    const where: string[] = ["b.tenant_id = ?"];
    const args: SqlValue[] = [];
    const isOwn = "b.owner_kind = ? AND b.owner_name = ?";
    const say = (text: string, ...values: SqlValue[]) => {
      where.push(text);
      args.push(...values);
    };
    if (agent !== undefined) {
      if (shared === true) say("s.agent IS NOT NULL");
      else if (shared === false) say(isOwn, agentKind, agent);
      else say(`(s.agent IS NOT NULL OR (${isOwn}))`, agentKind, agent);
    } else if (shared !== undefined) {
      say(
        `${shared ? "" : "NOT "}EXISTS (SELECT 1 FROM memory_shares x WHERE x.tenant_id = b.tenant_id AND x.block_id = b.id)`,
      );
    }
    if (owner) say(isOwn, owner.ownerKind, owner.ownerName);
    if (type !== undefined) say("b.type = ?", type);
    // Not LIKE: `_` means something there, and SQLite ignores case.
    if (labelPrefix !== "") say("substr(b.label, 1, ?) = ?", [...labelPrefix].length, labelPrefix);
    if (after) say("(b.owner_kind, b.owner_name, b.label) > (?, ?, ?)", ...after);
    const rows = await this.database.sqlReader
      .query(
        `SELECT ${blockShape.columnsOf("b")}, b.pinned, s.permission FROM memory_blocks b
         LEFT JOIN memory_shares s ON s.tenant_id = b.tenant_id AND s.block_id = b.id AND s.agent = ?
         WHERE ${where.join(" AND ")} ORDER BY b.owner_kind, b.owner_name, b.label LIMIT ?`,
        [agent ?? "", tenantId, ...args, limit],
      )
      .catch((error: unknown) => {
        throw asStorageError(error);
      });
    return rows.map((row) => ({
      row: readBlock(row),
      sharePermission: (row.at(-1) as string | null) ?? undefined,
    }));
  }

  /** One idempotent write to archival entries. */
  async writeArchival<Answer>(
    key: WriteKey<Answer>,
    nowUs: bigint,
    work: (entries: {
      insert(row: ArchivalRow): Promise<void>;
      find(id: string): Promise<ArchivalRow | undefined>;
      remove(id: string): Promise<void>;
    }) => Promise<Answer>,
  ): Promise<Answer> {
    const { tenantId } = key;
    const written = await idempotentWrite(this.database, key, nowUs, async (tx) => {
      const answer = await work({
        insert: async (row) => {
          await tx.archivalEntry.create({ data: row });
          await tx.searchPending.create({ data: { tenantId, kind: "archival", refId: row.id } });
        },
        find: async (id) => (await tx.archivalEntry.findFirst({ where: { tenantId, id } })) ?? undefined,
        remove: async (id) => {
          await tx.archivalEntry.deleteMany({ where: { tenantId, id } });
          await tx.searchPending.deleteMany({ where: { tenantId, kind: "archival", refId: id } });
          await tx.searchDocument.deleteMany({ where: { tenantId, refId: id } });
        },
      });
      return { answer, sessionId: null };
    });
    this.onWritten();
    return written;
  }

  /** Archival entries of an owner, newest first, before an id. */
  async listArchival(
    tenantId: string,
    owner: Pick<BlockPlace, "ownerKind" | "ownerName">,
    beforeId: string,
    limit: number,
  ): Promise<ArchivalRow[]> {
    return inSlices(limit, (some, last: ArchivalRow | undefined) => {
      const before = last?.id ?? beforeId;
      return this.database.reader.archivalEntry.findMany({
        where: { tenantId, ...owner, ...(before === "" ? {} : { id: { lt: before } }) },
        orderBy: { id: "desc" },
        take: some,
      });
    });
  }
}

export function positionOf({ ownerKind, ownerName, label }: BlockRow): BlockPosition {
  return [ownerKind, ownerName, label];
}

async function store(sql: Sql, commit: BlockCommit): Promise<void> {
  const { tenantId, before, after } = commit;
  if (!after) await remove(sql, tenantId, before);
  else if (!before) await insert(sql, after, commit.snapshot ?? Buffer.alloc(0));
  else if (after !== before) await change(sql, before, after, commit.snapshot);
  await insertRows(sql, revisionShape, commit.revisions);
  await letSearchKnow(sql, commit);
  if (after && commit.unshared.length + commit.shares.length > 0) {
    for (const agent of [...commit.unshared, ...commit.shares.map((share) => share.agent)])
      await sql.execute("DELETE FROM memory_shares WHERE tenant_id = ? AND block_id = ? AND agent = ?", [
        tenantId,
        after.id,
        agent,
      ]);
    await insertRows(sql, shareShape, commit.shares);
  }
  await insertRows(sql, peerShape, commit.peers);
  await insertRows(sql, storedAnswerShape, commit.answers);
}

/** What a block said before is found no more from here on; what it says now, once it is indexed. */
async function letSearchKnow(sql: Sql, { tenantId, before, after }: BlockCommit): Promise<void> {
  if (after === before) return;
  if (before) await forgetDocuments(sql, tenantId, "block", [before.id]);
  if (after) await markPending(sql, [{ tenantId, kind: "block", refId: after.id }]);
}

interface Shape<Row> {
  insertSql(rows: number, dialect: Sql["dialect"]): string;
  args(row: Row, into: SqlValue[]): void;
}

async function insertRows<Row>(sql: Sql, shape: Shape<Row>, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const args: SqlValue[] = [];
  for (const row of rows) shape.args(row, args);
  await sql.execute(shape.insertSql(rows.length, sql.dialect), args);
}

async function insert(sql: Sql, row: BlockRow, snapshot: Buffer): Promise<void> {
  const args: SqlValue[] = [];
  blockShape.args(row, args);
  const places = Array(args.length).fill("?").join(",");
  await sql.execute(
    `INSERT INTO memory_blocks (${blockShape.columnList},${insertColumns}) VALUES (${places},${row.pinned ? "TRUE" : "FALSE"},?,?)`,
    [...args, snapshot, row.revision],
  );
}

/** Only the revision that was planned on is changed. */
async function change(
  sql: Sql,
  before: BlockRow,
  row: BlockRow,
  snapshot: Buffer | undefined,
): Promise<void> {
  const args: SqlValue[] = [];
  blockShape.args(row, args);
  const sets = blockShape.columns.map(([, column]) => `${column} = ?`).join(", ");
  const folded = snapshot ? ", snapshot = ?, snapshot_revision = ?" : "";
  const changed = await sql.execute(
    `UPDATE memory_blocks SET ${sets}, pinned = ${row.pinned ? "TRUE" : "FALSE"}${folded}
     WHERE tenant_id = ? AND id = ? AND revision = ?`,
    [...args, ...(snapshot ? [snapshot, row.revision] : []), row.tenantId, row.id, before.revision],
  );
  if (changed !== 1) throw new BlockRace();
}

async function remove(sql: Sql, tenantId: string, before: BlockRow | undefined): Promise<void> {
  if (!before) return;
  const removed = await sql.execute(
    "DELETE FROM memory_blocks WHERE tenant_id = ? AND id = ? AND revision = ?",
    [tenantId, before.id, before.revision],
  );
  if (removed !== 1) throw new BlockRace();
  for (const table of ["memory_revisions", "memory_shares", "memory_peers"])
    await sql.execute(`DELETE FROM ${table} WHERE tenant_id = ? AND block_id = ?`, [tenantId, before.id]);
}
