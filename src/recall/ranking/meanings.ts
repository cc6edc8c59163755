import type { RankedPartition, ScoredPartition } from "./score-query.js";
import { TopThree } from "./top-three.js";

const shareBefore = 0.4;
const shareAfter = 0.25;

interface PartitionMeanings {
  readonly values: Map<number, number>;
  readonly sittings: TopThree;
}

/** Cosines together with those of the neighbours, in standard deviations of all that are known. */
export class Meanings {
  private readonly known = new Map<RankedPartition, PartitionMeanings>();

  constructor(partitions: readonly ScoredPartition[], cosines: ReadonlyMap<number, number>) {
    if (cosines.size === 0) return;
    let sum = 0;
    for (const cosine of cosines.values()) sum += cosine;
    const mean = sum / cosines.size;
    const all: number[] = [];
    for (const { partition, count } of partitions) {
      const { table } = partition;
      const cosineAt = (row: number) => (row < 0 ? undefined : cosines.get(table.ids[row]!)) ?? mean;
      const values = new Map<number, number>();
      for (const row of rowsWith(partition, count, cosines)) {
        const value =
          cosineAt(row) +
          shareBefore * cosineAt(table.before[row]!) +
          shareAfter * cosineAt(table.after[row]!);
        values.set(row, value);
        all.push(value);
      }
      this.known.set(partition, { values, sittings: new TopThree(values.size > 0 ? table.sittingCount : 0) });
    }
    const center = all.reduce((a, b) => a + b, 0) / (all.length || 1);
    const spread = Math.sqrt(all.reduce((a, b) => a + (b - center) ** 2, 0) / (all.length || 1)) || 1;
    for (const [{ table }, { values, sittings }] of this.known)
      for (const [row, value] of values) {
        const deviations = (value - center) / spread;
        values.set(row, deviations);
        sittings.add(table.sittings[row]!, deviations);
      }
  }

  rowsOf(partition: RankedPartition): Iterable<number> {
    return this.known.get(partition)?.values.keys() ?? [];
  }

  of(partition: RankedPartition, row: number): number {
    return this.known.get(partition)?.values.get(row) ?? 0;
  }

  ofSitting(partition: RankedPartition, row: number): number {
    return this.known.get(partition)?.sittings.mean(partition.table.sittings[row]!) ?? 0;
  }
}

/** The rows whose cosine is known, by way of whatever there are fewer of. */
function* rowsWith(
  { table }: RankedPartition,
  count: number,
  cosines: ReadonlyMap<number, number>,
): Generator<number> {
  if (count <= cosines.size) {
    for (let row = 0; row < count; row++) if (cosines.has(table.ids[row]!)) yield row;
    return;
  }
  for (const id of cosines.keys()) {
    const row = table.rowOf(id);
    if (row !== undefined && row < count) yield row;
  }
}
