import type { Database } from "../database.js";
import { asBigInt, asBuffer, list, nowUsSql, type SqlStatement } from "../sql.js";
import { asStorageError } from "../storage-error.js";
import { deleteJobs } from "./embedding-jobs.js";

export interface KnownEmbedder {
  readonly id: number;
  readonly dimensions: number;
}

export interface VectorEntry {
  readonly documentId: number;
  readonly vector: Float32Array;
}

/** Where a reading of a partition's vectors stands. */
export interface VectorPlace {
  readonly writtenUs: bigint;
  readonly documentId: number;
}

/** Vectors as they are stored: the truth that faster indexes are made from. */
export class VectorStore {
  private readonly known = new Map<string, KnownEmbedder>();

  constructor(private readonly database: Database) {}

  /** Undefined for one that has made no vector yet. */
  async findEmbedder(name: string): Promise<KnownEmbedder | undefined> {
    const known = this.known.get(name);
    if (known) return known;
    const [row] = await this.query("SELECT id, dimensions FROM search_embedders WHERE name = ?", [name]);
    if (row === undefined) return undefined;
    const found = { id: Number(row[0]), dimensions: Number(row[1]) };
    this.known.set(name, found);
    return found;
  }

  /** The first vector of an embedder says how many dimensions it has. */
  async openEmbedder(name: string, dimensions: number): Promise<KnownEmbedder> {
    const found = await this.findEmbedder(name);
    if (found) return found;
    await this.write([
      {
        text: "INSERT INTO search_embedders (name, dimensions) VALUES (?, ?) ON CONFLICT DO NOTHING",
        args: [name, dimensions],
      },
    ]);
    return (await this.findEmbedder(name))!;
  }

  /**
   * Stores vectors in place of older ones and takes their documents off the list of those that want one. A document that is gone
   * gets none.
   */
  async put(
    embedderId: number,
    entries: readonly VectorEntry[],
    further: readonly SqlStatement[] = [],
  ): Promise<void> {
    const now = nowUsSql[this.database.dialect];
    const statements = entries.map(({ documentId, vector }) => ({
      text: `INSERT INTO search_vectors (document_id, partition_id, embedder_id, vector, written_us) SELECT d.id, d.partition_id, ?, ?, ${now} FROM search_documents d WHERE d.id = ? ON CONFLICT (document_id) DO UPDATE SET embedder_id = excluded.embedder_id, vector = excluded.vector, written_us = excluded.written_us`,
      args: [embedderId, toBytes(vector), documentId],
    }));
    await this.write([...statements, ...further, ...deleteJobs(entries.map(({ documentId }) => documentId))]);
  }

  /**
   * The vectors of a partition that were written after a place, in that order. Each says what time it was when it was read, too. Where a
   * partition begins and ends is said by row values: of equalities, PostgreSQL expects few rows until it has statistics, and sorts all that
   * is left for each slice.
   */
  async since(
    partitionId: number,
    embedderId: number,
    after: VectorPlace,
    most: number,
  ): Promise<readonly (VectorPlace & VectorEntry & { readonly readUs: bigint })[]> {
    const rows = await this.query(
      `SELECT document_id, written_us, vector, ${nowUsSql[this.database.dialect]} FROM search_vectors
       WHERE (partition_id, embedder_id, written_us, document_id) > (?, ?, ?, ?) AND (partition_id, embedder_id) <= (?, ?)
       ORDER BY partition_id, embedder_id, written_us, document_id LIMIT ?`,
      [partitionId, embedderId, after.writtenUs, after.documentId, partitionId, embedderId, most],
    );
    return rows.map(([documentId, writtenUs, vector, readUs]) => ({
      documentId: Number(documentId),
      writtenUs: asBigInt(writtenUs),
      vector: fromBytes(vector),
      readUs: asBigInt(readUs),
    }));
  }

  /** Which partition each of these documents is in, as far as they have a vector of the embedder. */
  async partitionsOf(embedderId: number, documentIds: readonly number[]): Promise<Map<number, number>> {
    if (documentIds.length === 0) return new Map();
    const rows = await this.query(
      `SELECT document_id, partition_id FROM search_vectors WHERE embedder_id = ? AND document_id IN (${list(documentIds.length)})`,
      [embedderId, ...documentIds],
    );
    return new Map(rows.map(([document, partition]) => [Number(document), Number(partition)]));
  }

  /** Whether other servers write to the same database. */
  get isShared(): boolean {
    return this.database.dialect === "postgresql";
  }

  private async query(text: string, args: Parameters<Database["sqlReader"]["query"]>[1]) {
    try {
      return await this.database.sqlReader.query(text, args);
    } catch (error) {
      throw asStorageError(error);
    }
  }

  private async write(statements: readonly SqlStatement[]): Promise<void> {
    try {
      await this.database.unsyncedWrite(statements);
    } catch (error) {
      throw asStorageError(error);
    }
  }
}

/** Numbers are stored as processors have them that Node runs on: the lowest byte first. */
function toBytes({ buffer, byteOffset, byteLength }: Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

export function fromBytes(stored: unknown): Float32Array {
  const bytes = asBuffer(stored);
  const vector = new Float32Array(bytes.length >> 2);
  Buffer.from(vector.buffer).set(bytes.subarray(0, vector.byteLength));
  return vector;
}
