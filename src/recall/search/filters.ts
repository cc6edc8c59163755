import type { RecallDeps } from "../deps.js";
import type { IsWanted } from "../ranking/candidates.js";
import type { RankedPartition } from "../ranking/score-query.js";
import { fold } from "../terms/analyse.js";
import type { Scope } from "./scope.js";

/** What is asked of a document besides its text. */
export interface Filters {
  readonly afterMs?: number | undefined;
  readonly beforeMs?: number | undefined;
  readonly speaker?: string | undefined;
  /** Every key has this value in the document's metadata. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** Which rows may be shown: of the scope's thread, and as the filters say. Undefined where that is all. */
export async function wantedRows(
  deps: RecallDeps,
  scope: Scope,
  partitions: readonly RankedPartition[],
  { afterMs, beforeMs, speaker, metadata }: Filters,
  pause: () => Promise<void> | undefined,
): Promise<IsWanted | undefined> {
  const tests: IsWanted[] = [];
  if (scope.thread) {
    const ranges = new Map(
      partitions.map((partition) => {
        const { branchNames } = partition.table;
        const depths = scope.thread!.map(
          ({ branchId, toDepth }) => [branchNames.find(branchId) ?? -1, toDepth] as const,
        );
        return [partition, new Map(depths)];
      }),
    );
    tests.push((partition, row) => {
      const { branches, depths } = partition.table;
      const toDepth = ranges.get(partition)!.get(branches[row]!);
      return toDepth !== undefined && depths[row]! <= toDepth;
    });
  }
  if (scope.onlyBlocks.size > 0)
    tests.push((partition, row) => partition.onlyRows === undefined || partition.onlyRows.has(row));
  if (afterMs !== undefined) tests.push(({ table }, row) => table.times[row]! >= afterMs);
  if (beforeMs !== undefined) tests.push(({ table }, row) => table.times[row]! < beforeMs);
  if (speaker !== undefined && speaker !== "") {
    const name = fold(speaker).toLowerCase();
    const isNamed = new Map<string, boolean>();
    tests.push(({ table }, row) => {
      const given = table.speakerNames.list[table.speakers[row]!]!;
      let is = isNamed.get(given);
      if (is === undefined) {
        is = fold(given).toLowerCase() === name;
        isNamed.set(given, is);
      }
      return is;
    });
  }
  const wanted = Object.entries(metadata ?? {});
  if (wanted.length > 0) {
    const ids = new Set<number>();
    for (const { partitionId } of partitions)
      for await (const [id, json] of deps.store.metadata(partitionId)) {
        if (hasAll(json, wanted)) ids.add(id);
        await pause();
      }
    tests.push(({ table }, row) => ids.has(table.ids[row]!));
  }
  if (tests.length === 0) return undefined;
  return (partition, row) => tests.every((test) => test(partition, row));
}

function hasAll(json: string, wanted: readonly (readonly [string, string])[]): boolean {
  try {
    const object = JSON.parse(json) as Record<string, unknown>;
    return wanted.every(([key, value]) => {
      const found = Object.hasOwn(object, key) ? object[key] : undefined;
      return Array.isArray(found) ? found.includes(value) : found !== undefined && String(found) === value;
    });
  } catch {
    return false;
  }
}
