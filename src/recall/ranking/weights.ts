import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../config/package-root.js";

/** What is known of a document for a query, each general and none above others by its nature. */
export const featureNames = [
  /** Its terms, with those of its neighbours, over the best of the query. */
  "terms",
  /** The mean of the three best of its sitting. */
  "sitting",
  /** How near it is to a time that the query names. */
  "date",
  /** 1 where the one speaker that the query names says it, -1 where another does. */
  "speaker",
  "endsAsQuestion",
  /** The message before asks something. */
  "answersQuestion",
  "hasTime",
  "hasTimeWhenAsked",
  /** Its cosine with its neighbours', in standard deviations. */
  "meaning",
  "sittingMeaning",
] as const;
export type FeatureName = (typeof featureNames)[number];
export type Weights = Readonly<Partial<Record<FeatureName, number>>>;

export interface WeightSets {
  /** Without vectors. */
  readonly keyword: Weights;
  readonly hybrid: Weights;
}

/** The weights that the package brings; `npm run bench recall -- --learn` writes them. */
export function packagedWeights(): WeightSets {
  return JSON.parse(readFileSync(weightsFile, "utf8")) as WeightSets;
}

export const weightsFile = join(packageRoot, "src", "recall", "ranking", "weights.json");
