import type { RecallDeps } from "../deps.js";
import type { PartitionTable } from "../ranking/partition-table.js";
import type { Query } from "../ranking/query.js";
import type { RankedPartition } from "../ranking/rank.js";
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
    const keys = query.terms.flatMap((term) =>
      tiers.map((_, tier) => ({ partitionId: id, hash: termHash(term, tier) })),
    );
    const postings = await deps.store.terms(keys, pause);
    // After the postings: so it knows all that they name, but for what was committed out of order.
    const table = await deps.tables.get(id, pause);
    const missing = new Set<number>();
    for (const ids of postings) for (const one of ids) if (table.rowOf(one) === undefined) missing.add(one);
    if (missing.size > 0) await deps.tables.addMissing(id, table, [...missing]);
    const blocks = scope.onlyBlocks.get(id);
    const onlyRows = blocks && (await rowsOfBlocks(deps, tenantId, table, blocks));
    const terms = query.terms.map((_, at) =>
      termRows(table, postings.slice(at * tiers.length, (at + 1) * tiers.length), onlyRows),
    );
    found.push({ partitionId: id, table, terms, onlyRows });
    await pause();
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
  byTier: readonly Int32Array[],
  onlyRows: ReadonlySet<number> | undefined,
): TermRows {
  const [all, ...more] = byTier;
  const rows = new Int32Array(all!.length);
  const counts = new Float32Array(all!.length);
  const often = new Map<number, number>();
  more.forEach((ids, tier) => {
    for (const id of ids) often.set(id, tierCounts[tier + 1]!);
  });
  let length = 0;
  for (const id of all!) {
    const row = table.rowOf(id);
    if (row === undefined || (onlyRows && !onlyRows.has(row))) continue;
    rows[length] = row;
    counts[length++] = often.get(id) ?? tierCounts[0];
  }
  return { rows: rows.subarray(0, length), counts: counts.subarray(0, length) };
}
