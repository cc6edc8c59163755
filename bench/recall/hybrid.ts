import { writeFileSync } from "node:fs";
import { featureNames, packagedWeights, weightsFile } from "../../src/recall/ranking/weights.js";
import type { Figure } from "../figure.js";
import { readLocomo } from "../locomo.js";
import { progress } from "../measure.js";
import { type Collection, ofConversation } from "./collection.js";
import { type Opened, openHome } from "./home.js";
import { keptVectors } from "./kept-vectors.js";
import { type Example, learn } from "./learn.js";
import { Recall, shares } from "./score.js";

const limits = [78, 85, 91];
const candidates = 300;

/** The same with vectors of the embedded model. */
export async function hybrid(): Promise<Figure[]> {
  const conversations = readLocomo();
  const embedder = conversations && keptVectors();
  if (!embedder) return [];
  const collections = conversations.map(ofConversation);
  const figures: Figure[] = [];
  try {
    for (const home of ["sqlite", "postgresql"] as const) {
      const opened = await openHome(home, collections, {}, embedder);
      if (!opened) continue;
      try {
        if (home === "sqlite") figures.push(...(await learnt(opened, collections)));
        const byMeaning = new Recall();
        const asked = new Recall();
        for (const collection of collections)
          for (const wanted of collection.wanted) {
            if (home === "sqlite")
              byMeaning.add(wanted, await opened.search(collection, wanted, "SEARCH_MODE_VECTOR"));
            asked.add(wanted, await opened.search(collection, wanted));
          }
        if (home === "sqlite") figures.push(...shares("vector", byMeaning.shares));
        figures.push(...shares(`hybrid, packaged weights over the wire's own call, ${home}`, asked.shares));
      } finally {
        await opened.close();
      }
    }
  } finally {
    await embedder.close();
  }
  return figures;
}

/** Weights learnt from all conversations but one, tried on that one. */
async function learnt(opened: Opened, collections: readonly Collection[]): Promise<Figure[]> {
  const examples = new Map<Collection, Example[]>();
  for (const collection of collections) examples.set(collection, await examplesOf(opened, collection));
  const recall = new Recall();
  for (const collection of collections) {
    const others = collections.filter((one) => one !== collection).flatMap((one) => examples.get(one)!);
    const weights = learn(others, featureNames);
    for (const wanted of collection.wanted)
      recall.add(
        wanted,
        (await opened.rank(collection, wanted, { weights, limit: 25 })).map(({ id }) => id),
      );
  }
  if (process.argv.includes("--learn")) {
    const weights = learn([...examples.values()].flat(), featureNames);
    writeFileSync(weightsFile, `${JSON.stringify({ ...packagedWeights(), hybrid: weights }, null, 2)}\n`);
    progress(`recall: learnt ${JSON.stringify(weights)}`);
  }
  return shares("hybrid, learnt from the other conversations", recall.shares, limits);
}

async function examplesOf(opened: Opened, collection: Collection): Promise<Example[]> {
  const examples: Example[] = [];
  for (const wanted of collection.wanted) {
    const all = await opened.rank(collection, wanted, {
      weights: packagedWeights().hybrid,
      limit: candidates,
    });
    const evidence = new Set(wanted.evidence);
    const isWanted = all.map(({ id }) => evidence.has(id));
    if (!isWanted.includes(true)) continue;
    const features = all.map(({ features: one }) => Float64Array.from(featureNames, (name) => one[name]));
    examples.push({ features, isWanted });
  }
  return examples;
}
