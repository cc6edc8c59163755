import { retryWhileBusy } from "./busy.js";
import type { Database } from "./database-sync.js";

/**
 * What SQLite is to believe of each index of several columns: of a million rows, one value of the first column has very many, of the
 * first two a hundred, of all of them one where they are unique. The first is mostly the tenant, and there may be only one.
 */
const expected = `SELECT tbl, CASE WHEN origin = 'pk' AND wr THEN tbl ELSE idx END AS idx,
  '1000000 250000' || replace(hex(zeroblob(columns - 2)), '00', ' 100') || CASE WHEN isUnique THEN ' 1' ELSE ' 10' END AS stat
FROM (
  SELECT t.name AS tbl, t.wr, l.name AS idx, l.origin, l."unique" AS isUnique,
    (SELECT COUNT(*) FROM pragma_index_info(l.name)) AS columns
  FROM pragma_table_list t JOIN pragma_index_list(t.name) l
  WHERE t.schema = 'main' AND t.type = 'table'
)
WHERE columns > 1`;

/**
 * Tells SQLite about the indexes, instead of letting it guess. Without statistics it takes any index for one that leaves about ten
 * rows, and then goes through all that a tenant has rather than look up sixteen ids; with statistics of its own, plans would change as a
 * database grows. Connections that are opened afterwards go by it.
 */
export async function describeIndexes(database: Database, timeoutMs: number): Promise<void> {
  if (isDescribed(database)) return;
  await retryWhileBusy(() => database.exec("BEGIN IMMEDIATE"), timeoutMs);
  try {
    // The only way to make the table; what it finds is not kept.
    database.exec(`ANALYZE "_prisma_migrations";
      DELETE FROM sqlite_stat1;
      INSERT INTO sqlite_stat1 (tbl, idx, stat) ${expected};
      COMMIT`);
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
  }
}

function isDescribed(database: Database): boolean {
  const hasTable = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'").all();
  if (hasTable.length === 0) return false;
  const told = "SELECT tbl, idx, stat FROM sqlite_stat1";
  const different = `SELECT 1 FROM (SELECT * FROM (${expected} EXCEPT ${told}) UNION ALL SELECT * FROM (${told} EXCEPT ${expected})) LIMIT 1`;
  return database.prepare(different).all().length === 0;
}
