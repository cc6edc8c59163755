import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load-config.js";
import { stepByStep } from "../../src/domain/steps.js";
import { type Engine, openEngine } from "../../src/engine.js";
import { quireOn } from "../../src/in-process/quire.js";
import type { Embedder } from "../../src/recall/embedders/embedder.js";
import { readQuery } from "../../src/recall/ranking/query.js";
import { type Features, type RankOptions, rankScored } from "../../src/recall/ranking/rank.js";
import { scoreQuery } from "../../src/recall/ranking/score-query.js";
import { type TermScoring, termScoring } from "../../src/recall/ranking/score-terms.js";
import { findPartitions } from "../../src/recall/search/find-partitions.js";
import { beginMeaning } from "../../src/recall/search/query-meaning.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { progress } from "../measure.js";
import { startPostgres } from "../scale/postgres.js";
import { type Collection, type Wanted, write } from "./collection.js";

export type Home = "sqlite" | "postgresql";

interface RankedSaying {
  readonly id: string;
  readonly features: Features;
}

type Ranking = RankOptions & { readonly scoring?: Partial<TermScoring>; readonly maxCompared?: number };

/** Collections on one database, to be searched. */
export interface Opened {
  readonly engine: Engine;
  rank(collection: Collection, wanted: Wanted, options: Ranking): Promise<readonly RankedSaying[]>;
  search(collection: Collection, wanted: Wanted, mode?: "SEARCH_MODE_VECTOR"): Promise<string[]>;
  close(): Promise<void>;
}

const tenant = "default";
const noPause = () => undefined;

export async function openHome(
  home: Home,
  collections: readonly Collection[],
  settings = {},
  embedder?: Embedder,
): Promise<Opened | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "quire-bench-"));
  const postgres = home === "postgresql" ? await startPostgres().catch(() => undefined) : undefined;
  if (home === "postgresql" && !postgres) {
    progress("recall: PostgreSQL cannot be started here; skipped");
    return undefined;
  }
  const database = postgres ? await postgres.createDatabase("recall") : `file:${join(folder, "quire.db")}`;
  const config = loadConfig({ env: {}, flags: { logLevel: "silent", database, ...settings } });
  let nowMs = Date.now();
  const engine = await openEngine(config, createLogger("silent"), {
    clock: { now: () => nowMs },
    ...(embedder ? { embedder } : {}),
  });
  const quire = quireOn(engine);
  const ids = new Map<string, string>();
  for (const collection of collections)
    for (const [turn, id] of await write(quire, collection)) ids.set(turn, id);
  await engine.recall.indexer.catchUp(tenant);
  while ((await engine.recall.indexer.catchUp(tenant)) > 0);
  await engine.recall.embedding?.worker.idle();
  const idsByDocument = new Map<number, string>();
  const { store } = engine.recall;
  return {
    engine,
    async rank(collection, { query: text }, { scoring, maxCompared, ...options }) {
      const query = readQuery(text, collection.askedMs);
      const owner = { kind: "message", ownerKind: "OWNER_KIND_AGENT", ownerName: collection.agent } as const;
      const partitions = await store.partitions(tenant, [owner], 10);
      const scope = { partitions, onlyBlocks: new Map(), thread: undefined };
      const found = await findPartitions(engine.recall, tenant, query, scope, noPause);
      const compared = maxCompared === undefined ? {} : { maxCompared };
      const comparing =
        engine.recall.embedding && beginMeaning(engine.recall, query, found, { pause: noPause, ...compared });
      const scored = await stepByStep(scoreQuery(query, found, { ...termScoring, ...scoring }), noPause);
      const cosines = comparing && (await comparing(scored)).cosines;
      const ranked = await stepByStep(rankScored(scored, { cosines, ...options }), noPause);
      const documentIds = ranked.map(({ partition, row }) => partition.table.ids[row]!);
      const unknown = documentIds.filter((id) => !idsByDocument.has(id));
      for (const row of await store.documents(tenant, unknown))
        idsByDocument.set(row.id, ids.get(row.refId)!);
      return ranked.map(({ features }, at) => ({ id: idsByDocument.get(documentIds[at]!)!, features }));
    },
    async search({ agent, askedMs }, { query }, mode = undefined) {
      nowMs = askedMs;
      const owner = { kind: "OWNER_KIND_AGENT", name: agent } as const;
      const { results } = await quire.memory.search({ query, owner, limit: 25, ...(mode ? { mode } : {}) });
      return results.map(({ turnId }) => ids.get(turnId)!);
    },
    async close() {
      await quire.close();
      await postgres?.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
