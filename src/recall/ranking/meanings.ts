import type { RankedPartition, ScoredPartition } from "./score-query.js";
import { TopThree } from "./top-three.js";

const shareBefore = 0.4;
const shareAfter = 0.25;

/** How near the rows of one partition are to a query in meaning: 0 for those of which nothing is known. */
export interface PartitionMeanings {
  /** Those of which something is known. */
  readonly rows: Int32Array;
  readonly values: Float64Array;
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
    let count = 0;
    let total = 0;
    for (const { partition, count: rowCount } of partitions) {
      const { table } = partition;
      const cosineAt = (row: number) => (row < 0 ? undefined : cosines.get(table.ids[row]!)) ?? mean;
      const rows = Int32Array.from(rowsWith(partition, rowCount, cosines));
      const values = new Float64Array(rowCount);
      for (const row of rows) {
        values[row] =
          cosineAt(row) +
          shareBefore * cosineAt(table.before[row]!) +
          shareAfter * cosineAt(table.after[row]!);
        total += values[row]!;
        count++;
      }
      const sittings = new TopThree(rows.length > 0 ? table.sittingCount : 0);
      this.known.set(partition, { rows, values, sittings });
    }
    const center = total / (count || 1);
    let squares = 0;
    for (const { rows, values } of this.known.values())
      for (const row of rows) squares += (values[row]! - center) ** 2;
    const spread = Math.sqrt(squares / (count || 1)) || 1;
    for (const [{ table }, { rows, values, sittings }] of this.known)
      for (const row of rows) {
        const deviations = (values[row]! - center) / spread;
        values[row] = deviations;
        sittings.add(table.sittings[row]!, deviations);
      }
  }

  /** Undefined where nothing is known of any row. */
  in(partition: RankedPartition): PartitionMeanings | undefined {
    return this.known.get(partition);
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
