import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte, textBytes } from "../../domain/memory-size.js";
import type { ItemContent } from "../../domain/source-item.js";
import type { ItemRow, ObservationRow, OutcomeRow, SourceMark } from "../../storage/source/rows.js";
import type { SourceStore } from "../../storage/source/source-store.js";
import type { OutcomeCounter } from "../outcome-counter.js";
import type { RankTexts } from "../rank-texts.js";
import type { SourceView } from "../source.js";
import { decodeItem } from "../source-codec.js";

/** An item as sources read it. */
export type KnownItem<Case extends ItemContent["$case"]> = Extract<ItemContent, { $case: Case }>["value"] & {
  readonly key: string;
  readonly updatedMs: number;
};

interface Kept<T> {
  readonly value: T;
  readonly bytes: number;
}

/** What agents know, read once for each state that it was in. */
export class Knowledge {
  private readonly kept: BoundedCache<Kept<unknown>>;

  constructor(
    private readonly store: SourceStore,
    private readonly counter: OutcomeCounter,
    /** The best of some items for a question. */
    readonly rank: RankTexts,
    caches: Caches,
  ) {
    this.kept = caches.create<Kept<unknown>>("what sources know", 32 * megabyte, ({ bytes }) => bytes);
  }

  /**
   * Items of a kind that have not expired, of the agent first, then of all agents; an agent's own hides one of the same key. The same list as
   * before, where nothing has changed.
   */
  async items<Case extends ItemContent["$case"]>(
    of: KnowledgeOf,
    kind: string,
    $case: Case,
    nowMs: number,
  ): Promise<readonly KnownItem<Case>[]> {
    const { all, expiries, firstExpiryMs } = await this.read(of, kind, async () => {
      const rows = await this.store.items(of.tenantId, of.agent, [kind]);
      return {
        value: itemsIn<Case>(of.agent, rows, $case),
        bytes: rows.reduce((sum, { wire, key }) => sum + 512 + 3 * wire.length + textBytes(key), 0),
      };
    });
    return nowMs < firstExpiryMs ? all : all.filter((_, index) => nowMs < expiries[index]!);
  }

  /** The series of a kind by their names, each oldest first. */
  async series(of: KnowledgeOf, kind: string): Promise<ReadonlyMap<string, readonly ObservationRow[]>> {
    return this.read(of, kind, async () => {
      const rows = await this.store.observations(of.tenantId, of.agent, kind);
      const series = new Map<string, ObservationRow[]>();
      for (const row of rows) {
        const known = series.get(row.name);
        if (known) known.push(row);
        else series.set(row.name, [row]);
      }
      return { value: series, bytes: 512 + 320 * rows.length };
    });
  }

  /** How often the agent's tools were called, up to the last turn of the session that is asked for. */
  outcomes(
    { tenantId, agent }: KnowledgeOf,
    { sessionId, isDryRun }: SourceView,
  ): Promise<readonly OutcomeRow[]> {
    return isDryRun
      ? this.counter.foreseen(tenantId, agent, sessionId)
      : this.counter.counted(tenantId, agent, sessionId);
  }

  private async read<T>(
    { tenantId, agent, marks }: KnowledgeOf,
    kind: string,
    load: () => Promise<Kept<T>>,
  ): Promise<T> {
    const states = marks.filter((mark) => mark.kind === kind);
    const revisions = states.map((mark) => `${mark.agent === "" ? "all" : "own"} ${mark.revision}`).join("/");
    const key = `${tenantId}/${agent}/${kind}/${revisions}`;
    const known = this.kept.get(key) as Kept<T> | undefined;
    if (known) return known.value;
    const loaded = await load();
    this.kept.set(key, loaded);
    return loaded.value;
  }
}

interface Items<Case extends ItemContent["$case"]> {
  readonly all: readonly KnownItem<Case>[];
  /** When each expires. */
  readonly expiries: readonly number[];
  readonly firstExpiryMs: number;
}

function itemsIn<Case extends ItemContent["$case"]>(
  agent: string,
  rows: readonly ItemRow[],
  $case: Case,
): Items<Case> {
  const own = new Set(rows.filter((row) => row.agent !== "").map(({ key }) => key));
  const all: KnownItem<Case>[] = [];
  const expiries: number[] = [];
  for (const row of rows) {
    if (row.agent !== agent && own.has(row.key)) continue;
    const { item, expireTime } = decodeItem(row.wire);
    if (item?.$case !== $case) continue;
    const updatedMs = Number(row.updatedUs / 1000n);
    all.push({ ...item.value, key: row.key, updatedMs } as unknown as KnownItem<Case>);
    expiries.push(expireTime?.getTime() ?? Number.POSITIVE_INFINITY);
  }
  return {
    all,
    expiries,
    firstExpiryMs: expiries.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
  };
}

/** Whose knowledge, in which state. */
export interface KnowledgeOf {
  readonly tenantId: string;
  readonly agent: string;
  readonly marks: readonly SourceMark[];
}
