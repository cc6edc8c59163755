import type { Database } from "../database.js";
import { list, placeholders, type Sql, type SqlRow, type SqlStatement, type SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { fromBytes, type KnownEmbedder, type VectorEntry } from "./vector-store.js";

export interface Near {
  readonly documentId: number;
  readonly cosine: number;
}

/** Up to so many vectors are all compared, which is exact; of more, an HNSW index finds the nearest. */
const fewVectors = 20_000;
/** An index of `vector` can have no more. */
const mostIndexedDimensions = 2_000;
const sliceVectors = 200;
const idsPerQuery = 1_000;
const lockKey = "hashtextextended('quire-pgvector', 0)";

/**
 * Vectors in PostgreSQL's own index, where the extension pgvector is there: a table for each embedder, made when it is first needed, and
 * filled from `search_vectors`, whose rows take theirs with them when they go.
 */
export class PgvectorTables {
  private constructor(
    private readonly database: Database,
    /** From 0.8 on an index goes on until enough of what it finds is in the scope. */
    private readonly hasIterativeScan: boolean,
  ) {}

  /** Undefined where the database is no PostgreSQL, or has no pgvector and lets none be created. */
  static async open(database: Database): Promise<PgvectorTables | undefined> {
    if (database.dialect !== "postgresql") return undefined;
    const version = "SELECT extversion FROM pg_extension WHERE extname = 'vector'";
    let [row] = await database.sqlReader.query(version, []);
    if (!row) {
      const offered = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'";
      if ((await database.sqlReader.query(offered, [])).length === 0) return undefined;
      await database
        .sqlTransaction((sql) => sql.execute("CREATE EXTENSION IF NOT EXISTS vector", []))
        .catch(() => undefined);
      [row] = await database.sqlReader.query(version, []);
    }
    if (!row) return undefined;
    const [major = 0, minor = 0] = String(row[0]).split(".").map(Number);
    return new PgvectorTables(database, major > 0 || minor >= 8);
  }

  /** Makes the table of an embedder, and drops those of embedders that have no vectors any more. */
  async create({ id, dimensions }: KnownEmbedder): Promise<void> {
    await this.transaction(async (sql) => {
      await sql.execute(`SELECT pg_advisory_xact_lock(${lockKey})`, []);
      const [found] = await sql.query("SELECT CAST(to_regclass(?) AS TEXT)", [table(id)]);
      if (found?.[0] != null) return;
      await sql.execute(
        `CREATE TABLE ${table(id)} (document_id INTEGER PRIMARY KEY REFERENCES search_vectors ON DELETE CASCADE, partition_id INTEGER NOT NULL, embedding vector(${dimensions}) NOT NULL)`,
        [],
      );
      await sql.execute(`CREATE INDEX ON ${table(id)} (partition_id)`, []);
      const others = await sql.query(
        "SELECT e.id FROM search_embedders e WHERE e.id <> ? AND to_regclass('search_pgvector_' || e.id) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM search_vectors v WHERE v.embedder_id = e.id)",
        [id],
      );
      for (const [other] of others) await sql.execute(`DROP TABLE ${table(Number(other))}`, []);
    });
  }

  /** Takes over some vectors that the table lacks, after a document. Gives the last one; undefined at the end. */
  async fill({ id }: KnownEmbedder, afterId: number): Promise<number | undefined> {
    const rows = await this.query(
      `SELECT v.document_id, v.vector FROM search_vectors v LEFT JOIN ${table(id)} t ON t.document_id = v.document_id WHERE v.embedder_id = ? AND v.document_id > ? AND t.document_id IS NULL ORDER BY v.document_id LIMIT ?`,
      [id, afterId, sliceVectors],
    );
    if (rows.length === 0) return undefined;
    const entries = rows.map(([document, bytes]) => ({
      documentId: Number(document),
      vector: fromBytes(bytes),
    }));
    try {
      await this.database.unsyncedWrite(this.insert({ id }, entries));
    } catch (error) {
      throw asStorageError(error);
    }
    return entries.at(-1)!.documentId;
  }

  /** After the table was filled: to build it at once takes a tenth of the time. Writers wait for it. */
  async index({ id, dimensions }: KnownEmbedder): Promise<void> {
    if (!this.hasIterativeScan || dimensions > mostIndexedDimensions) return;
    await this.transaction(async (sql) => {
      await sql.execute(`SELECT pg_advisory_xact_lock(${lockKey})`, []);
      await sql.execute(
        `CREATE INDEX IF NOT EXISTS ${table(id)}_hnsw ON ${table(id)} USING hnsw (embedding vector_cosine_ops)`,
        [],
      );
    });
  }

  /** For the transaction that stores the vectors. */
  insert({ id }: Pick<KnownEmbedder, "id">, entries: readonly VectorEntry[]): SqlStatement[] {
    const statements: SqlStatement[] = [];
    for (let at = 0; at < entries.length; at += sliceVectors) {
      const some = entries.slice(at, at + sliceVectors);
      statements.push({
        text: `INSERT INTO ${table(id)} (document_id, partition_id, embedding) SELECT v.document_id, v.partition_id, CAST(given.embedding AS vector) FROM (VALUES ${placeholders(some.length, 2)}) AS given (document_id, embedding) JOIN search_vectors v ON v.document_id = CAST(given.document_id AS INTEGER) AND v.embedder_id = ${id} ON CONFLICT (document_id) DO UPDATE SET embedding = excluded.embedding`,
        args: some.flatMap(({ documentId, vector }) => [String(documentId), literal(vector)]),
      });
    }
    return statements;
  }

  async count({ id }: KnownEmbedder, partitionIds: readonly number[]): Promise<number> {
    const text = `SELECT COUNT(*) FROM ${table(id)} WHERE partition_id IN (${list(partitionIds.length)})`;
    return Number((await this.query(text, partitionIds))[0]![0]);
  }

  /** The nearest of these partitions, nearest first. */
  async nearest(
    { id }: KnownEmbedder,
    query: Float32Array,
    partitionIds: readonly number[],
    limit: number,
    /** How many there are in the partitions. */
    count: number,
  ): Promise<readonly Near[]> {
    const inScope = `FROM ${table(id)} WHERE partition_id IN (${list(partitionIds.length)})`;
    if (count > fewVectors && this.hasIterativeScan) {
      const found = await this.transaction(async (sql) => {
        await sql.execute("SET LOCAL hnsw.iterative_scan = 'strict_order'", []);
        await sql.execute("SET LOCAL hnsw.max_scan_tuples = 200000", []);
        await sql.execute(`SET LOCAL hnsw.ef_search = ${Math.min(1_000, Math.max(100, limit))}`, []);
        return sql.query(
          `SELECT document_id, 1 - (embedding <=> CAST(? AS vector)) ${inScope} ORDER BY embedding <=> CAST(? AS vector) LIMIT ?`,
          [literal(query), ...partitionIds, literal(query), limit],
        );
      });
      // An index that gives up before it has enough in the scope is not asked again.
      if (found.length >= limit) return found.map(near);
    }
    const rows = await this.query(
      `WITH scope AS MATERIALIZED (SELECT document_id, embedding <=> CAST(? AS vector) AS distance ${inScope}) SELECT document_id, 1 - distance FROM scope ORDER BY distance, document_id LIMIT ?`,
      [literal(query), ...partitionIds, limit],
    );
    return rows.map(near);
  }

  /** The cosines of these documents, as far as they are in the partitions. */
  async cosines(
    { id }: KnownEmbedder,
    query: Float32Array,
    partitionIds: readonly number[],
    documentIds: readonly number[],
  ): Promise<readonly Near[]> {
    const found: Near[] = [];
    for (let at = 0; at < documentIds.length; at += idsPerQuery) {
      const some = documentIds.slice(at, at + idsPerQuery);
      const rows = await this.query(
        `SELECT document_id, 1 - (embedding <=> CAST(? AS vector)) FROM ${table(id)} WHERE document_id IN (${list(some.length)}) AND partition_id IN (${list(partitionIds.length)})`,
        [literal(query), ...some, ...partitionIds],
      );
      found.push(...rows.map(near));
    }
    return found;
  }

  private async query(text: string, args: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    try {
      return await this.database.sqlReader.query(text, args);
    } catch (error) {
      throw asStorageError(error);
    }
  }

  private async transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      return await this.database.sqlTransaction(work);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function table(embedderId: number): string {
  return `search_pgvector_${embedderId}`;
}

function literal(vector: Float32Array): string {
  return `[${vector.join(",")}]`;
}

function near([documentId, cosine]: SqlRow): Near {
  return { documentId: Number(documentId), cosine: Number(cosine) };
}
