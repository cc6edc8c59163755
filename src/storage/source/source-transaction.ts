import type { PrismaTransaction } from "../database.js";
import type { ItemRow, ObservationRow } from "./rows.js";

type Bytes = Uint8Array<ArrayBuffer>;

/** Under which kind it is noted that sources were put. */
export const sourcesKind = "sources";

/** What a write may do to what sources know, inside its transaction. Each change is noted, so that contexts see it. */
export class SourceTransaction {
  constructor(
    private readonly tx: PrismaTransaction,
    private readonly tenantId: string,
    readonly nowUs: bigint,
  ) {}

  async putSource(name: string, wire: Buffer): Promise<void> {
    const { tenantId, nowUs: updatedUs } = this;
    const data = { wire: wire as unknown as Bytes, updatedUs };
    await this.tx.source.upsert({
      where: { tenantId_name: { tenantId, name } },
      create: { tenantId, name, ...data },
      update: data,
    });
    await this.mark("", sourcesKind, true);
  }

  async deleteSource(name: string): Promise<boolean> {
    const { count } = await this.tx.source.deleteMany({ where: { tenantId: this.tenantId, name } });
    const left = await this.tx.source.count({ where: { tenantId: this.tenantId } });
    if (count > 0) await this.mark("", sourcesKind, left > 0);
    return count > 0;
  }

  async countSources(exceptName: string): Promise<number> {
    return this.tx.source.count({ where: { tenantId: this.tenantId, name: { not: exceptName } } });
  }

  async putItems(agent: string, rows: readonly Omit<ItemRow, "agent" | "updatedUs">[]): Promise<void> {
    const { tenantId, nowUs: updatedUs } = this;
    // In one order, so that two servers never wait for each other.
    const ordered = rows.toSorted((a, b) => (a.kind + a.key < b.kind + b.key ? -1 : 1));
    for (const { kind, key, wire, expiresUs } of ordered) {
      const data = { wire: wire as unknown as Bytes, updatedUs, expiresUs };
      await this.tx.sourceItem.upsert({
        where: { tenantId_agent_kind_key: { tenantId, agent, kind, key } },
        create: { tenantId, agent, kind, key, ...data },
        update: data,
      });
    }
    for (const kind of kindsOf(rows)) await this.mark(agent, kind, true);
  }

  async deleteItems(agent: string, kind: string, keys: readonly string[]): Promise<number> {
    const named = keys.length > 0 ? { key: { in: [...keys] } } : {};
    const { tenantId } = this;
    const { count } = await this.tx.sourceItem.deleteMany({ where: { tenantId, agent, kind, ...named } });
    const left = await this.tx.sourceItem.count({ where: { tenantId, agent, kind } });
    await this.mark(agent, kind, left > 0);
    return count;
  }

  /** Values without a time are of now, each a millisecond after the one before it: none takes the place of another. */
  async addObservations(
    agent: string,
    rows: readonly NewObservation[],
    nowUs: bigint,
    keep: number,
  ): Promise<void> {
    const { tenantId } = this;
    // First, so that whoever writes the same kind waits, and sees what was written.
    for (const kind of kindsOf(rows)) await this.mark(agent, kind, true);
    const seriesOf = ({ kind, name }: NewObservation) => `${kind}/${name}`;
    const ordered = rows.toSorted((a, b) => compare(seriesOf(a), seriesOf(b)));
    const newest = new Map<string, bigint>();
    for (const row of ordered) {
      const { kind, name, ...data } = row;
      const series = seriesOf(row);
      let { observedUs } = row;
      if (observedUs === undefined) {
        const last = newest.get(series) ?? (await this.newestObserved(agent, row, nowUs));
        const next = (last / 1_000n + 1n) * 1_000n;
        observedUs = next > nowUs ? next : nowUs;
        newest.set(series, observedUs);
      }
      await this.tx.sourceObservation.upsert({
        where: { tenantId_agent_kind_name_observedUs: { tenantId, agent, kind, name, observedUs } },
        create: { tenantId, agent, kind, name, ...data, observedUs },
        update: { ...data, observedUs },
      });
    }
    const series = new Map(rows.map(({ kind, name }) => [`${kind}/${name}`, { kind, name }]));
    for (const { kind, name } of series.values()) {
      const where = { tenantId, agent, kind, name };
      const [oldest] = await this.tx.sourceObservation.findMany({
        where,
        orderBy: { observedUs: "desc" },
        skip: keep - 1,
        take: 1,
        select: { observedUs: true },
      });
      if (!oldest) continue;
      await this.tx.sourceObservation.deleteMany({
        where: { ...where, observedUs: { lt: oldest.observedUs } },
      });
    }
  }

  /** When the last value of a series was observed; what was dated ahead of its time does not count. */
  private async newestObserved(
    agent: string,
    { kind, name }: { readonly kind: string; readonly name: string },
    nowUs: bigint,
  ): Promise<bigint> {
    const [newest] = await this.tx.sourceObservation.findMany({
      where: { tenantId: this.tenantId, agent, kind, name, observedUs: { lt: nowUs + aheadUs } },
      orderBy: { observedUs: "desc" },
      take: 1,
      select: { observedUs: true },
    });
    return newest?.observedUs ?? 0n;
  }

  async deleteObservations(agent: string, kind: string, names: readonly string[]): Promise<number> {
    const named = names.length > 0 ? { name: { in: [...names] } } : {};
    const { tenantId } = this;
    const { count } = await this.tx.sourceObservation.deleteMany({
      where: { tenantId, agent, kind, ...named },
    });
    const left = await this.tx.sourceObservation.count({ where: { tenantId, agent, kind } });
    await this.mark(agent, kind, left > 0);
    return count;
  }

  /** Counted up by the database, so that no two states of what is known have the same revision. */
  private async mark(agent: string, kind: string, isPresent: boolean): Promise<void> {
    const { tenantId } = this;
    const present = isPresent ? 1 : 0;
    await this.tx.$executeRaw`INSERT INTO source_marks (tenant_id, agent, kind, revision, present)
      VALUES (${tenantId}, ${agent}, ${kind}, 1, ${present})
      ON CONFLICT (tenant_id, agent, kind) DO UPDATE SET revision = source_marks.revision + 1, present = excluded.present`;
  }
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Values that are told at once run ahead of the clock by less than this. */
const aheadUs = 60_000_000n;

/** A value to be added; of now, where it has no time. */
export type NewObservation = Omit<ObservationRow, "agent" | "observedUs"> & {
  readonly observedUs: bigint | undefined;
};

function kindsOf(rows: readonly { readonly kind: string }[]): readonly string[] {
  return [...new Set(rows.map(({ kind }) => kind))].sort();
}
