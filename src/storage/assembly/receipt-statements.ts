import { TableShape } from "../ledger/rows.js";
import { erasureLock } from "../ledger/write-turns.js";
import type { Dialect, SqlStatement, SqlValue } from "../sql.js";
import type { Blob, StoredReceipt, WaitingReceipt } from "./waiting-receipts.js";

const receiptShape = new TableShape<StoredReceipt>("receipts", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["sessionId", "session_id", "text"],
  ["wire", "wire", "bytes"],
  ["contextWire", "context_wire", "bytes"],
  ["systemHash", "system_hash", "bytes"],
  ["toolsHash", "tools_hash", "bytes"],
  ["templatesHash", "templates_hash", "bytes"],
  ["createdUs", "created_us", "bigint"],
]);

const blobShape = new TableShape<Omit<Blob, "key"> & { readonly lastUsedUs: bigint }>("receipt_blobs", [
  ["tenantId", "tenant_id", "text"],
  ["hash", "hash", "bytes"],
  ["bytes", "bytes", "bytes"],
  ["lastUsedUs", "last_used_us", "bigint"],
]);
const onKnownBlob =
  " ON CONFLICT (tenant_id, hash) DO UPDATE SET last_used_us = CASE WHEN excluded.last_used_us > receipt_blobs.last_used_us THEN excluded.last_used_us ELSE receipt_blobs.last_used_us END";

/** So many rows go into one statement at most. */
const rowsPerInsert = 32;

/** When the newest receipt of a batch was made: the last use of every layer in it, or a little later. */
export function newestUs(batch: readonly WaitingReceipt[]): bigint {
  return batch.reduce((last, { receipt }) => (receipt.createdUs > last ? receipt.createdUs : last), 0n);
}

/** What writes a batch, in one transaction: the layers that are not stored yet, then the receipts that name them. */
export function receiptStatements(dialect: Dialect, batch: readonly WaitingReceipt[]): SqlStatement[] {
  const receipts = batch.map(({ receipt }) => receipt);
  const lastUsedUs = newestUs(batch);
  const blobs = new Map(batch.flatMap((entry) => entry.blobs.map((blob) => [blob.key, blob])));
  // In one order for all servers, so that two of them cannot wait for each other.
  const sorted = [...blobs.values()]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((blob) => ({ ...blob, lastUsedUs }));
  return [
    ...insertions(blobShape, sorted, (rows) => blobShape.insertSql(rows, dialect) + onKnownBlob),
    ...(dialect === "postgresql" ? locks(receipts) : []),
    ...insertions(receiptShape, receipts, (rows) => insertReceipts(dialect, rows)),
  ];
}

/** Erasures wait until the receipts are written; SQLite has one writer at a time anyway. */
function locks(receipts: readonly StoredReceipt[]): SqlStatement[] {
  const tenantIds = [...new Set(receipts.map(({ tenantId }) => tenantId))].sort();
  return tenantIds.map((tenantId) => ({
    text: erasureLock("pg_advisory_xact_lock_shared", "?"),
    args: [tenantId],
  }));
}

function insertions<Row>(
  shape: TableShape<Row>,
  rows: readonly Row[],
  textFor: (rows: number) => string,
): SqlStatement[] {
  const statements: SqlStatement[] = [];
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    const some = rows.slice(at, at + rowsPerInsert);
    const args: SqlValue[] = [];
    for (const row of some) shape.args(row, args);
    statements.push({ text: textFor(some.length), args });
  }
  return statements;
}

/** PostgreSQL takes the values of a list for text unless it is told. */
const casts = { text: "TEXT", int: "INTEGER", bigint: "BIGINT", bytes: "BYTEA" } as const;
const insertTexts: Readonly<Record<Dialect, string[]>> = { sqlite: [], postgresql: [] };

/**
 * Receipts of sessions that were deleted since are left out: what they hold is erased, too, and must stay so. One that is there
 * already was written by a commit that seemed to fail.
 */
function insertReceipts(dialect: Dialect, rows: number): string {
  const { columns, columnList } = receiptShape;
  let text = insertTexts[dialect][rows];
  if (text === undefined) {
    const places = columns.map(([, , kind]) => (dialect === "sqlite" ? "?" : `CAST(? AS ${casts[kind]})`));
    const values = Array(rows)
      .fill(`(${places.join(",")})`)
      .join(",");
    text = `WITH r(${columnList}) AS (VALUES ${values}) INSERT INTO receipts (${columnList}) SELECT * FROM r WHERE EXISTS (SELECT 1 FROM sessions s WHERE s.tenant_id = r.tenant_id AND s.id = r.session_id) ON CONFLICT (tenant_id, id) DO NOTHING`;
    insertTexts[dialect][rows] = text;
  }
  return text;
}
