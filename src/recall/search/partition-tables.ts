import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { fromMicroseconds } from "../../domain/clock.js";
import { megabyte } from "../../domain/memory-size.js";
import type { DocumentColumns } from "../../storage/recall/rows.js";
import type { SearchStore } from "../../storage/recall/search-store.js";
import { PartitionTable } from "../ranking/partition-table.js";

const rowsPerRead = 500;
const maxBytes = 128 * megabyte;

/** The tables of partitions, read once and kept up to date by what was added since. */
export class PartitionTables {
  private readonly tables: BoundedCache<PartitionTable>;
  private readonly loading = new Map<number, Promise<PartitionTable>>();

  constructor(
    private readonly store: SearchStore,
    caches: Caches,
  ) {
    this.tables = caches.create<PartitionTable>("search tables", maxBytes, (table) => table.bytes);
  }

  /** The table with all that was committed before the call. */
  async get(partitionId: number, pause: () => Promise<void> | undefined): Promise<PartitionTable> {
    // Who joins a load that has begun would miss what was written since; it looks again.
    const begun = this.loading.get(partitionId);
    if (begun) await begun.catch(() => undefined);
    let load = this.loading.get(partitionId);
    if (!load) {
      load = this.load(partitionId, pause).finally(() => this.loading.delete(partitionId));
      this.loading.set(partitionId, load);
    }
    return load;
  }

  /** Reads documents that postings name and the table lacks: ids are not committed in their order. */
  async addMissing(partitionId: number, table: PartitionTable, ids: readonly number[]): Promise<void> {
    for (const row of await this.store.columnsOf(partitionId, ids)) table.add(ranked(row));
  }

  forget(partitionId: number): void {
    this.tables.delete(partitionId.toString());
  }

  private async load(partitionId: number, pause: () => Promise<void> | undefined): Promise<PartitionTable> {
    const key = partitionId.toString();
    const kept = this.tables.get(key);
    if (kept && !kept.isOutdated) {
      const before = kept.count;
      await this.readOn(partitionId, kept, pause, () => kept.isOutdated);
      if (kept.count > before) this.tables.set(key, kept);
      if (!kept.isOutdated) return kept;
    }
    const table = new PartitionTable();
    await this.readOn(partitionId, table, pause);
    table.firstCount = table.count;
    this.tables.set(key, table);
    return table;
  }

  /** Reads what comes after the last document that a table has. */
  private async readOn(
    partitionId: number,
    table: PartitionTable,
    pause: () => Promise<void> | undefined,
    isEnough = () => false,
  ): Promise<void> {
    for (;;) {
      const rows = await this.store.columns(partitionId, table.maxId, rowsPerRead);
      for (const row of rows) {
        table.add(ranked(row));
        if (isEnough()) return;
      }
      if (rows.length < rowsPerRead) return;
      await pause();
    }
  }
}

function ranked({ timeUs, ...row }: DocumentColumns) {
  return { ...row, timeMs: fromMicroseconds(timeUs).getTime() };
}
