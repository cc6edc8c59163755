import { pausing } from "../../domain/pausing.js";
import type { Sql, SqlValue } from "../sql.js";
import { asStorageError } from "../storage-error.js";

/** A term of a partition: its hash (terms/term-hash.ts), and whose it is. */
export interface TermKey {
  readonly partitionId: number;
  readonly hash: number;
}

/** What one document says. */
export interface IndexedTerms {
  readonly documentId: number;
  readonly partitionId: number;
  readonly hashes: readonly number[];
}

/**
 * Which documents have a term: FTS5 without content on SQLite, an array with a GIN index on PostgreSQL. Both hold hashes of terms
 * under their partition, so the analysis is the same, and a look reads only what is of the partition. A document that is
 * deleted leaves it in the same transaction, by a trigger or a foreign key.
 */
const create: Readonly<Record<Sql["dialect"], readonly string[]>> = {
  sqlite: [
    `CREATE VIRTUAL TABLE IF NOT EXISTS search_terms USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii')`,
    `CREATE TRIGGER IF NOT EXISTS search_documents_deleted AFTER DELETE ON search_documents BEGIN
       DELETE FROM search_terms WHERE rowid = old.id;
     END`,
  ],
  postgresql: [
    `CREATE TABLE IF NOT EXISTS search_terms (
       document_id INTEGER PRIMARY KEY REFERENCES search_documents (id) ON DELETE CASCADE,
       terms BIGINT[] NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS search_terms_terms ON search_terms USING GIN (terms) WITH (fastupdate = off)`,
  ],
};

const isThere: Readonly<Record<Sql["dialect"], string>> = {
  sqlite: "SELECT 1 FROM sqlite_master WHERE name = 'search_documents_deleted'",
  postgresql: "SELECT 1 WHERE to_regclass('search_terms_terms') IS NOT NULL",
};

/** Makes the index where there is none. Two servers may start at once. */
export async function prepareTermIndex(sql: Sql): Promise<void> {
  if ((await sql.query(isThere[sql.dialect], [])).length > 0) return;
  if (sql.dialect === "postgresql")
    await sql.execute("SELECT pg_advisory_xact_lock(hashtextextended('quire-search-terms', 0))", []);
  for (const text of create[sql.dialect]) await sql.execute(text, []);
}

const keysPerQuery = 200;
const tokensPerStep = 512;

export async function insertTerms(sql: Sql, entries: readonly IndexedTerms[]): Promise<void> {
  const pause = pausing();
  for (const { documentId, partitionId, hashes } of entries) {
    if (sql.dialect === "sqlite") {
      const tokens: string[] = [];
      for (const hash of hashes) {
        tokens.push(sqliteToken({ partitionId, hash }));
        if (tokens.length % tokensPerStep === 0) await pause();
      }
      await sql.execute("INSERT INTO search_terms (rowid, terms) VALUES (?, ?)", [
        documentId,
        tokens.join(" "),
      ]);
      await pause();
    } else {
      const array = `{${[...new Set(hashes.map((hash) => postgresKey({ partitionId, hash })))].join(",")}}`;
      await sql.execute("INSERT INTO search_terms (document_id, terms) VALUES (?, CAST(? AS BIGINT[]))", [
        documentId,
        array,
      ]);
    }
  }
}

/** So many pages are written in one step of merging. */
const mergePages = 500;

/** One step of taking deleted entries out of the index; whether there may be more. PostgreSQL does so by itself. */
export async function mergeTerms(sql: Sql): Promise<boolean> {
  if (sql.dialect === "postgresql") return false;
  const changes = async () => Number((await sql.query("SELECT total_changes()", []))[0]![0]);
  const before = await changes();
  await sql.execute("INSERT INTO search_terms (search_terms, rank) VALUES ('merge', ?)", [-mergePages]);
  // By FTS5's own rule: a step that changed fewer than two rows found nothing to do.
  return (await changes()) - before >= 2;
}

/**
 * For each term, its documents by how often they have it: all that have it, then those of them that have it more often, and so on, as
 * its keys say. Ids ascend.
 */
export async function findTerms(
  sql: Sql,
  terms: readonly (readonly TermKey[])[],
  pause: () => Promise<void> | undefined,
): Promise<readonly (readonly Int32Array[])[]> {
  try {
    if (sql.dialect === "postgresql") return await findAtOnce(sql, terms, pause);
    const found: Int32Array[][] = [];
    for (const keys of terms) {
      const byTier: Int32Array[] = [];
      for (const key of keys) {
        const isEmpty = byTier.at(-1)?.length === 0;
        // One long text costs a fraction of as many rows.
        const [row] = isEmpty
          ? []
          : await sql.query("SELECT group_concat(rowid) FROM search_terms WHERE search_terms MATCH ?", [
              `"${sqliteToken(key)}"`,
            ]);
        byTier.push(parseIds(row?.[0]));
        await pause();
      }
      found.push(byTier);
    }
    return found;
  } catch (error) {
    throw asStorageError(error);
  }
}

/** In few queries: to ask takes longer than to look. */
async function findAtOnce(
  sql: Sql,
  terms: readonly (readonly TermKey[])[],
  pause: () => Promise<void> | undefined,
): Promise<readonly (readonly Int32Array[])[]> {
  const keys = terms.flat();
  const lists: Int32Array[] = [];
  for (let at = 0; at < keys.length; at += keysPerQuery) {
    const some = keys.slice(at, at + keysPerQuery);
    const args: SqlValue[] = some.map((key) => `{${postgresKey(key)}}`);
    const one =
      "SELECT string_agg(CAST(document_id AS TEXT), ',') FROM search_terms WHERE terms @> CAST(? AS BIGINT[])";
    const rows = await sql.query(
      some.map((_, index) => `SELECT ${index} AS place, (${one}) AS ids`).join(" UNION ALL "),
      args,
    );
    const byPlace = new Map(rows.map(([place, ids]) => [Number(place), ids]));
    for (let index = 0; index < some.length; index++) {
      lists.push(parseIds(byPlace.get(index)).sort());
      await pause();
    }
  }
  let next = 0;
  return terms.map((ofTerm) => ofTerm.map(() => lists[next++]!));
}

const none = new Int32Array(0);

function parseIds(text: unknown): Int32Array {
  if (typeof text !== "string" || text === "") return none;
  let count = 1;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === 44) count++;
  const ids = new Int32Array(count);
  let index = 0;
  let value = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 44) {
      ids[index++] = value;
      value = 0;
    } else value = value * 10 + code - 48;
  }
  ids[index] = value;
  return ids;
}

function sqliteToken({ partitionId, hash }: TermKey): string {
  return `${partitionId.toString(36)}x${hash.toString(36)}`;
}

/** 64 bits: another partition's term shares them about as often as two terms share their hash. */
function postgresKey({ partitionId, hash }: TermKey): string {
  return BigInt.asIntN(64, (BigInt(hash) << 11n) ^ (BigInt(partitionId) * 0x9e3779b97f4a7c15n)).toString();
}
