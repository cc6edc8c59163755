import type { RecallDeps } from "../deps.js";
import type { RankedPartition } from "../ranking/rank.js";
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

export type IsWanted = (partition: RankedPartition, row: number) => boolean;

/** Which rows may be shown: of the scope's thread, and as the filters say. */
export async function wantedRows(
  deps: RecallDeps,
  scope: Scope,
  partitions: readonly RankedPartition[],
  { afterMs, beforeMs, speaker, metadata }: Filters,
): Promise<IsWanted> {
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
    tests.push(
      ({ table }, row) => fold(table.speakerNames.list[table.speakers[row]!]!).toLowerCase() === name,
    );
  }
  const wanted = Object.entries(metadata ?? {});
  if (wanted.length > 0) {
    const known = await deps.store.metadata(partitions.map(({ partitionId }) => partitionId));
    const ids = new Set([...known].filter(([, json]) => hasAll(json, wanted)).map(([id]) => id));
    tests.push(({ table }, row) => ids.has(table.ids[row]!));
  }
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
