import type { Database } from "../database.js";
import { list, nowUsSql, type Sql, type SqlStatement } from "../sql.js";
import { asStorageError } from "../storage-error.js";

/** A document that wants a vector. */
export interface EmbeddingJob {
  readonly documentId: number;
  readonly tenantId: string;
  readonly partitionId: number;
  /** How often the embedder refused this very text. */
  readonly refusals: number;
}

/** Of documents: all, with a vector of the embedder in use, and refused by it so far. */
export interface EmbeddingProgress {
  readonly documents: number;
  readonly embedded: number;
  readonly refused: number;
}

/** Rows in one statement, at most. */
const mostRows = 500;
/** So many documents are looked at in one step of `enlistMissing`. */
const stepDocuments = 1_000;

/**
 * The documents that want a vector, as rows: written together with the document, and deleted together with the coming of its
 * vector. A server that takes some moves them into the future by a lease; if it dies they are due again. New documents come first,
 * those that were there before the embedder last.
 */
export class EmbeddingJobs {
  constructor(private readonly database: Database) {}

  /** Inside the transaction that writes the documents. */
  static async enlist(sql: Sql, documentIds: readonly number[]): Promise<void> {
    const now = nowUsSql[sql.dialect];
    for (let at = 0; at < documentIds.length; at += mostRows) {
      const some = documentIds.slice(at, at + mostRows);
      const rows = some.map(() => `(?, ${now}, 0)`).join(",");
      await sql.execute(
        `INSERT INTO embedding_jobs (document_id, due_us, refusals) VALUES ${rows} ON CONFLICT DO NOTHING`,
        some,
      );
    }
  }

  /** Those that are due, for as long as the lease; newest first. */
  async claim(most: number, leaseMs: number): Promise<readonly EmbeddingJob[]> {
    const now = nowUsSql[this.database.dialect];
    const due = `SELECT document_id FROM embedding_jobs WHERE due_us <= ${now} ORDER BY due_us DESC, document_id DESC LIMIT ?`;
    try {
      // With SQLite there is one server, which remembers what it works at.
      if (this.database.dialect === "sqlite")
        return await this.describe(this.database.sqlReader, due, [most]);
      return await this.database.sqlTransaction(async (sql) => {
        const taken = await sql.query(
          `UPDATE embedding_jobs SET due_us = ${now} + ? WHERE document_id IN (${due} FOR UPDATE SKIP LOCKED) RETURNING document_id`,
          [BigInt(leaseMs) * 1000n, most],
        );
        const ids = taken.map(([id]) => Number(id));
        return ids.length === 0 ? [] : await this.describe(sql, list(ids.length), ids);
      });
    } catch (error) {
      throw asStorageError(error);
    }
  }

  private async describe(sql: Sql, ids: string, args: readonly number[]): Promise<EmbeddingJob[]> {
    const rows = await sql.query(
      `SELECT j.document_id, d.tenant_id, d.partition_id, j.refusals FROM embedding_jobs j LEFT JOIN search_documents d ON d.id = j.document_id WHERE j.document_id IN (${ids}) ORDER BY j.document_id DESC`,
      args,
    );
    return rows.map(([documentId, tenantId, partitionId, refusals]) => ({
      documentId: Number(documentId),
      tenantId: String(tenantId ?? ""),
      partitionId: Number(partitionId ?? 0),
      refusals: Number(refusals),
    }));
  }

  /** Documents that are gone or have no words need no vector. */
  async drop(documentIds: readonly number[]): Promise<void> {
    await this.write(deleteJobs(documentIds));
  }

  /** The embedder refused the text of this one: it is tried again after a while. */
  async refused(documentId: number, waitMs: number): Promise<void> {
    const now = nowUsSql[this.database.dialect];
    await this.write([
      {
        text: `UPDATE embedding_jobs SET refusals = refusals + 1, due_us = ${now} + ? WHERE document_id = ?`,
        args: [BigInt(waitMs) * 1000n, documentId],
      },
    ]);
  }

  /** Those that were taken and not worked at are due again at once. */
  async giveBack(documentIds: readonly number[]): Promise<void> {
    if (this.database.dialect === "sqlite" || documentIds.length === 0) return;
    await this.write([
      {
        text: `UPDATE embedding_jobs SET due_us = ${nowUsSql.postgresql} WHERE document_id IN (${list(documentIds.length)})`,
        args: documentIds,
      },
    ]);
  }

  /**
   * One step through all documents: those that have no vector of this embedder are enlisted, behind the new ones. Gives the last
   * document that it looked at; undefined after the end.
   */
  async enlistMissing(embedder: string, afterId: number): Promise<number | undefined> {
    try {
      const [found] = await this.database.sqlReader.query(
        "SELECT MAX(id) FROM (SELECT id FROM search_documents WHERE id > ? ORDER BY id LIMIT ?) AS step",
        [afterId, stepDocuments],
      );
      if (found?.[0] == null) return undefined;
      const lastId = Number(found[0]);
      await this.write([
        {
          text: `INSERT INTO embedding_jobs (document_id, due_us, refusals) SELECT d.id, 0, 0 FROM search_documents d WHERE d.id > ? AND d.id <= ? AND NOT ${hasVector("d.id")} ON CONFLICT DO NOTHING`,
          args: [afterId, lastId, embedder],
        },
        // Another server's vector may have come, and its job gone, while the first statement ran: the second sees that.
        {
          text: `DELETE FROM embedding_jobs WHERE due_us = 0 AND document_id > ? AND document_id <= ? AND ${hasVector("embedding_jobs.document_id")}`,
          args: [afterId, lastId, embedder],
        },
      ]);
      return lastId;
    } catch (error) {
      throw asStorageError(error);
    }
  }

  async progress(embedderId: number | undefined): Promise<EmbeddingProgress> {
    const count = async (text: string, args: readonly number[]) =>
      Number((await this.database.sqlReader.query(text, args))[0]![0]);
    try {
      return {
        documents: await count("SELECT COUNT(*) FROM search_documents", []),
        embedded: await count("SELECT COUNT(*) FROM search_vectors WHERE embedder_id = ?", [
          embedderId ?? -1,
        ]),
        refused: await count("SELECT COUNT(*) FROM embedding_jobs WHERE refusals > 0", []),
      };
    } catch (error) {
      throw asStorageError(error);
    }
  }

  /** What was lost in a power cut is done again: nobody waits for the disk. */
  private async write(statements: readonly SqlStatement[]): Promise<void> {
    try {
      await this.database.unsyncedWrite(statements);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

function hasVector(documentId: string): string {
  return `EXISTS (SELECT 1 FROM search_vectors v JOIN search_embedders e ON e.id = v.embedder_id WHERE v.document_id = ${documentId} AND e.name = ?)`;
}

export function deleteJobs(documentIds: readonly number[]): SqlStatement[] {
  const statements: SqlStatement[] = [];
  for (let at = 0; at < documentIds.length; at += mostRows) {
    const some = documentIds.slice(at, at + mostRows);
    const text = `DELETE FROM embedding_jobs WHERE document_id IN (${list(some.length)})`;
    statements.push({ text, args: some });
  }
  return statements;
}
