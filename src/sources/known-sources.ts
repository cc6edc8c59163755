import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import { megabyte } from "../domain/memory-size.js";
import { type Soon, together } from "../domain/soon.js";
import type { SourceRule } from "../domain/source.js";
import type { SourceMark } from "../storage/source/rows.js";
import type { SourceStore } from "../storage/source/source-store.js";
import { sourcesKind } from "../storage/source/source-transaction.js";
import { builtIns } from "./builtin/all.js";
import type { BuiltIn } from "./builtin/builtin.js";
import type { Knowledge } from "./builtin/knowledge.js";
import { selfModel } from "./builtin/self-model.js";
import { plugInSource } from "./remote/plug-in-source.js";
import type { PlugIns } from "./remote/plug-ins.js";
import { plainRules, type SourceRules, withRule } from "./rules.js";
import type { AskingSession, OfferedSource, Source, SourceProvider } from "./source.js";
import { decodeConfig, type SourceConfig } from "./source-codec.js";
import { SourceFailure } from "./source-failure.js";

/** What holds for plug-ins, where nobody says otherwise: a call over a network takes longer, and no longer than people wait. */
export const plugInRules: SourceRules = { ...plainRules, order: 200, priority: 35, deadlineMs: 1_000 };

/** What was written for an agent, and what other providers offer. */
type Found = readonly [readonly SourceMark[], readonly (readonly OfferedSource[])[]];

interface Configs {
  readonly configs: readonly SourceConfig[];
  readonly bytes: number;
}

/**
 * The sources that are part of the server, where they know anything, the plug-ins that were registered, and what others offer; each by the rules
 * that were put for it. One cheap query says what there is.
 */
export class KnownSources implements SourceProvider {
  private readonly configs: BoundedCache<Configs>;

  constructor(
    private readonly knowledge: Knowledge,
    private readonly store: SourceStore,
    private readonly plugIns: PlugIns,
    private readonly others: readonly SourceProvider[],
    caches: Caches,
  ) {
    this.configs = caches.create<Configs>("sources that were put", megabyte, ({ bytes }) => bytes);
  }

  active(
    tenantId: string,
    agent: string,
    rulesOf: ReadonlyMap<string, SourceRule>,
    session: AskingSession,
  ): Soon<readonly OfferedSource[]> {
    const found = together(
      () => this.store.marks(tenantId, agent),
      () => together(...this.others.map((other) => () => other.active(tenantId, agent, rulesOf, session))),
    );
    const isSelfWanted = rulesOf.get(selfModel.name)?.enabled === true;
    const offer = ([marks, others]: Found): Soon<readonly OfferedSource[]> =>
      marks.length === 0 && !isSelfWanted
        ? others.flat()
        : this.offered(tenantId, agent, marks, others.flat(), isSelfWanted);
    return found instanceof Promise ? found.then(offer) : offer(found);
  }

  private async offered(
    tenantId: string,
    agent: string,
    marks: readonly SourceMark[],
    others: readonly OfferedSource[],
    isSelfWanted: boolean,
  ): Promise<readonly OfferedSource[]> {
    const configs = await this.configsAt(tenantId, marks);
    const kinds = new Set(marks.map(({ kind }) => kind));
    const offered: OfferedSource[] = others.map((other) => {
      const config = configs.find(({ name }) => name === other.source.name);
      return { ...other, defaults: withRule(other.defaults, config?.rule) };
    });
    for (const builtIn of builtIns) {
      const config = configs.find(({ name }) => name === builtIn.name);
      // Tool calls are counted for everybody; that a context tells of them is a wish.
      const isSaid = builtIn === selfModel && (isSelfWanted || config?.rule?.enabled === true);
      if (!isSaid && !builtIn.kinds.some((kind) => kinds.has(kind))) continue;
      const defaults = withRule(builtIn.defaults, config?.rule);
      offered.push({ source: this.builtIn(builtIn, { tenantId, agent, marks }), defaults });
    }
    for (const { name, endpoint, rule } of configs) {
      if (!endpoint) continue;
      const source = this.plugIns.allows(endpoint)
        ? plugInSource(name, this.plugIns.at(tenantId, name, endpoint))
        : notAllowed(name);
      offered.push({ source, defaults: withRule(plugInRules, rule) });
    }
    return offered;
  }

  private builtIn(
    builtIn: BuiltIn,
    of: { readonly tenantId: string; readonly agent: string; readonly marks: readonly SourceMark[] },
  ): Source {
    return {
      name: builtIn.name,
      fetch: (view, rules) => builtIn.answer(this.knowledge, of, view, rules),
    };
  }

  private async configsAt(tenantId: string, marks: readonly SourceMark[]): Promise<readonly SourceConfig[]> {
    const mark = marks.find(({ kind, agent }) => kind === sourcesKind && agent === "");
    if (!mark) return [];
    const key = `${tenantId}/${mark.revision}`;
    const known = this.configs.get(key);
    if (known) return known.configs;
    const rows = await this.store.sources(tenantId);
    const configs = rows.map(({ wire }) => decodeConfig(wire));
    this.configs.set(key, {
      configs,
      bytes: rows.reduce((sum, { wire }) => sum + 512 + 4 * wire.length, 128),
    });
    return configs;
  }
}

function notAllowed(name: string): Source {
  return {
    name,
    fetch() {
      throw new SourceFailure("the operator does not allow its address");
    },
  };
}
