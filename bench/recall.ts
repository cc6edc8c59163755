import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../src/config/package-root.js";
import {
  type FeatureName,
  featureNames,
  packagedWeights,
  type Weights,
} from "../src/recall/ranking/weights.js";
import { evalDataFolder } from "./eval-data.js";
import type { Figure } from "./figure.js";
import { readLocomo } from "./locomo.js";
import { progress } from "./measure.js";
import { asOne, type Collection, ofConversation } from "./recall/collection.js";
import { contexts } from "./recall/contexts.js";
import { type Home, type Opened, openHome } from "./recall/home.js";
import { hybrid } from "./recall/hybrid.js";
import { kinds } from "./recall/kinds.js";
import { type Example, learn } from "./recall/learn.js";
import { plainFts5 } from "./recall/plain-fts5.js";
import { scale } from "./recall/scale.js";
import { depths, Recall, shares } from "./recall/score.js";

const paperDense = [56.7, 66.2, 76.7];
const limits = [75, 82, 88];
const cues: readonly FeatureName[] = featureNames.filter((name) => !name.toLowerCase().includes("meaning"));

/** What of the evidence of questions is found, rung by rung, on both databases. */
export async function run(): Promise<Figure[]> {
  const only = process.argv.find((arg) => arg.startsWith("--only="))?.slice("--only=".length) ?? "";
  if (process.argv.includes("--scale")) return scale();
  const figures: Figure[] = [];
  if ("locomo".includes(only)) figures.push(...(await locomo()));
  if ("pruning".includes(only)) figures.push(...(await pruning((readLocomo() ?? []).map(ofConversation))));
  const conversations = readLocomo();
  if (conversations && "contexts".includes(only)) figures.push(...(await contexts(conversations)));
  if ("hybrid".includes(only)) figures.push(...(await hybrid()));
  if ("kinds".includes(only)) figures.push(...(await kinds()));
  return figures;
}

async function locomo(): Promise<Figure[]> {
  const conversations = readLocomo();
  if (!conversations) {
    progress(`recall: skipped, LoCoMo is not in ${evalDataFolder}; QUIRE_EVAL_DATA names the folder`);
    return [];
  }
  const collections = conversations.map(ofConversation);
  const figures: Figure[] = [...shares("FTS5 porter, stop words cut", plainFts5(collections).shares)];
  depths.forEach((depth, at) => {
    figures.push({
      figure: `recall: LoCoMo paper's dense retriever, at ${depth}`,
      value: paperDense[at]!,
      unit: "%",
    });
  });
  const byHome = new Map<Home, readonly number[]>();
  for (const home of ["sqlite", "postgresql"] as const) {
    const opened = await openHome(home, collections);
    if (!opened) continue;
    try {
      if (home === "sqlite") figures.push(...(await rungs(opened, collections)));
      const keyword = await asked(opened, collections);
      byHome.set(home, keyword.shares);
      figures.push(...shares(`packaged weights over the wire's own call, ${home}`, keyword.shares));
    } finally {
      await opened.close();
    }
  }
  const [sqlite, postgresql] = [byHome.get("sqlite"), byHome.get("postgresql")];
  if (sqlite && postgresql)
    depths.forEach((depth, at) => {
      const value = Math.abs(sqlite[at]! - postgresql[at]!);
      const figure = `recall: SQLite against PostgreSQL, at ${depth}`;
      figures.push({ figure, value, unit: "points", limit: 1, holds: value <= 1, note: "at most" });
    });
  return figures;
}

/** Each rung adds something to the one before. */
async function rungs(opened: Opened, collections: readonly Collection[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  const alone = { reach: 0 };
  const fixed: readonly (readonly [string, Weights, object])[] = [
    ["terms of the text alone", { terms: 1 }, alone],
    ["+ terms of neighbours", { terms: 1 }, {}],
    ["+ speaker", { terms: 6, speaker: 0.5 }, {}],
    ["+ questions and answers", { terms: 6, speaker: 0.5, endsAsQuestion: -0.9, answersQuestion: 0.8 }, {}],
    [
      "+ date",
      {
        terms: 6,
        speaker: 0.5,
        endsAsQuestion: -0.9,
        answersQuestion: 0.8,
        date: 6.4,
        hasTime: 0.5,
        hasTimeWhenAsked: 1.8,
      },
      {},
    ],
  ];
  for (const [name, weights, scoring] of fixed) {
    const recall = new Recall();
    for (const collection of collections)
      for (const wanted of collection.wanted)
        recall.add(
          wanted,
          (await opened.rank(collection, wanted, { weights, scoring, limit: 25 })).map(({ id }) => id),
        );
    figures.push(...shares(name, recall.shares));
  }
  const examples = new Map<Collection, Example[]>();
  for (const collection of collections) examples.set(collection, await examplesOf(opened, collection));
  figures.push(...(await leftOut(opened, collections, examples)));
  if (process.argv.includes("--learn")) {
    const keyword = learn([...examples.values()].flat(), cues);
    const file = join(packageRoot, "src", "recall", "ranking", "weights.json");
    writeFileSync(file, `${JSON.stringify({ ...packagedWeights(), keyword }, null, 2)}\n`);
    progress(`recall: learnt ${JSON.stringify(keyword)}, written to ${file}`);
  }
  return figures;
}

/** Weights learnt from all conversations but one, tried on that one. */
async function leftOut(
  opened: Opened,
  collections: readonly Collection[],
  examples: ReadonlyMap<Collection, Example[]>,
): Promise<Figure[]> {
  const recall = new Recall();
  for (const collection of collections) {
    const others = collections.filter((one) => one !== collection).flatMap((one) => examples.get(one)!);
    const weights = learn(others, cues);
    for (const wanted of collection.wanted)
      recall.add(
        wanted,
        (await opened.rank(collection, wanted, { weights, limit: 25 })).map(({ id }) => id),
      );
  }
  return shares("keyword, learnt from the other conversations", recall.shares, limits);
}

/** What it costs to look closely at some only: all conversations as one agent's, so that most of it is about something else. */
async function pruning(collections: readonly Collection[]): Promise<Figure[]> {
  const one = asOne(collections);
  const opened = (await openHome("sqlite", [one]))!;
  try {
    const figures: Figure[] = [];
    const count = one.sessions.flat().length;
    for (const share of [0.02, 0.04, 0.1, 1]) {
      const recall = new Recall();
      const weights = packagedWeights().keyword;
      const maxCandidates = Math.ceil(share * count);
      for (const wanted of one.wanted)
        recall.add(
          wanted,
          (await opened.rank(one, wanted, { weights, limit: 25, maxCandidates })).map(({ id }) => id),
        );
      const name = share === 1 ? "not pruned" : `pruned to ${100 * share} %`;
      figures.push(...shares(`${name} of ${count.toLocaleString("en")}`, recall.shares));
    }
    return figures;
  } finally {
    await opened.close();
  }
}

async function examplesOf(opened: Opened, collection: Collection): Promise<Example[]> {
  const examples: Example[] = [];
  for (const wanted of collection.wanted) {
    const all = await opened.rank(collection, wanted, { weights: packagedWeights().keyword, limit: 300 });
    const evidence = new Set(wanted.evidence);
    const isWanted = all.map(({ id }) => evidence.has(id));
    if (!isWanted.includes(true)) continue;
    const features = all.map(({ features: one }) => Float64Array.from(featureNames, (name) => one[name]));
    examples.push({ features, isWanted });
  }
  return examples;
}

/** By MemoryService.Search itself, with the weights that the package brings. */
async function asked(opened: Opened, collections: readonly Collection[]): Promise<Recall> {
  const recall = new Recall();
  for (const collection of collections)
    for (const wanted of collection.wanted) recall.add(wanted, await opened.search(collection, wanted));
  return recall;
}
