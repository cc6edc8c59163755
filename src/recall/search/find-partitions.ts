import type { RecallDeps } from "../deps.js";
import type { PartitionTable } from "../ranking/partition-table.js";
import type { Query } from "../ranking/query.js";
import type { RankedPartition } from "../ranking/score-query.js";
import type { TermRows } from "../ranking/score-terms.js";
import { termHash, tierCounts, tiers } from "../terms/term-hash.js";
import type { Scope } from "./scope.js";

/** The tables of a scope's partitions, and where the terms of a query are in them. */
export async function findPartitions(
  deps: RecallDeps,
  tenantId: string,
  query: Query,
  scope: Scope,
  pause: () => Promise<void> | undefined,
): Promise<RankedPartition[]> {
  const found: RankedPartition[] = [];
  for (const { id } of scope.partitions) {
    // What is committed between the two, or out of order, is named and not in the table; it is read by its id.
    const [postings, table] = await Promise.all([
      deps.store.terms(
        query.terms.map((term) => tiers.map((_, tier) => ({ partitionId: id, hash: termHash(term, tier) }))),
        pause,
      ),
      deps.tables.get(id, pause),
    ]);
    const missing = new Set<number>();
    for (const [all] of postings) {
      const rows = table.rowsOf(all!);
      for (let at = 0; at < rows.length; at++) if (rows[at]! < 0) missing.add(all![at]!);
      await pause();
    }
    if (missing.size > 0) await deps.tables.addMissing(id, table, [...missing]);
    const blocks = scope.onlyBlocks.get(id);
    const onlyRows = blocks && (await rowsOfBlocks(deps, tenantId, table, blocks));
    const terms: TermRows[] = [];
    for (const byTier of postings) {
      terms.push(termRows(table, byTier, onlyRows));
      await pause();
    }
    found.push({ partitionId: id, table, terms, onlyRows });
  }
  return found;
}

async function rowsOfBlocks(
  deps: RecallDeps,
  tenantId: string,
  table: PartitionTable,
  blocks: ReadonlySet<string>,
): Promise<ReadonlySet<number>> {
  const ids = await deps.store.documentIds(tenantId, [...blocks]);
  return new Set(ids.flatMap((id) => table.rowOf(id) ?? []));
}

/** Every row that has the term, with about how often. */
function termRows(
  table: PartitionTable,
  [all, ...more]: readonly Int32Array[],
  onlyRows: ReadonlySet<number> | undefined,
): TermRows {
  const rows = table.rowsOf(all!);
  const counts = new Float32Array(rows.length).fill(tierCounts[0]);
  // All ids ascend, and who has a term more often is among those who have it.
  more.forEach((ids, tier) => {
    for (let at = 0, index = 0; at < ids.length && index < rows.length; index++)
      if (all![index] === ids[at]) {
        counts[index] = tierCounts[tier + 1]!;
        at++;
      } else if (all![index]! > ids[at]!) at++;
  });
  let length = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!;
    if (row < 0 || (onlyRows && !onlyRows.has(row))) continue;
    rows[length] = row;
    counts[length++] = counts[index]!;
  }
  return { rows: rows.subarray(0, length), counts: counts.subarray(0, length) };
}
