import type { Database } from "../../src/storage/database.js";
import { placeholders, type SqlValue } from "../../src/storage/sql.js";

export interface TestDocuments {
  readonly partitionId: number;
  readonly ids: readonly number[];
}

/** Rows of search documents of a new partition, with nothing behind them. */
export async function insertDocuments(
  database: Database,
  count: number,
  owner: string,
  tenantId = "default",
): Promise<TestDocuments> {
  return database.sqlTransaction(async (sql) => {
    const [partition] = await sql.query(
      "INSERT INTO search_partitions (tenant_id, kind, owner_kind, owner_name) VALUES (?, 'message', 'agent', ?) RETURNING id",
      [tenantId, owner],
    );
    const partitionId = Number(partition![0]);
    const ids: number[] = [];
    for (let at = 0; at < count; at += 100) {
      const rows = Math.min(100, count - at);
      const args: SqlValue[] = [];
      for (let row = 0; row < rows; row++)
        args.push(
          tenantId,
          partitionId,
          `${owner}-${at + row}`,
          0,
          0n,
          "",
          "user",
          0,
          1,
          1,
          "",
          Buffer.of(1),
        );
      const inserted = await sql.query(
        `INSERT INTO search_documents (tenant_id, partition_id, ref_id, message_index, time_us, speaker, role, flags, term_count, o200k_tokens, metadata_json, content_hash) VALUES ${placeholders(rows, 12)} RETURNING id`,
        args,
      );
      ids.push(...inserted.map(([id]) => Number(id)));
    }
    return { partitionId, ids };
  });
}
