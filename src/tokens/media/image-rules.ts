/** What a picture costs by its size, as its provider publishes it. */
export type ImageRules = FlatRules | PatchRules | TileRules | CropRules;

/** So many tokens, whatever its size. */
export interface FlatRules {
  readonly kind: "flat";
  readonly tokens: number;
}

/** A token for each patch, after the picture was scaled down to the limits. */
export interface PatchRules {
  readonly kind: "patches";
  readonly patchPixels: number;
  readonly maxEdge?: number | undefined;
  readonly maxPatches?: number | undefined;
  /** 1 where nothing is said. */
  readonly multiplier?: number | undefined;
  /** A second formula, by area: the larger of both counts. */
  readonly pixelsPerToken?: number | undefined;
  /** Whether a picture that is scaled down fills whole patches on one side. */
  readonly wholePatches?: boolean | undefined;
}

/** A base, and so much for each tile, after the picture was scaled to fit an edge and then a shorter one. */
export interface TileRules {
  readonly kind: "tiles";
  readonly maxEdge: number;
  readonly shortEdge: number;
  readonly tilePixels: number;
  readonly baseTokens: number;
  readonly tileTokens: number;
}

/** One tile for a small picture, else tiles whose size follows from its shorter side. */
export interface CropRules {
  readonly kind: "crops";
  readonly smallEdge: number;
  readonly minTile: number;
  readonly maxTile: number;
  readonly maxEdge: number;
  readonly tileTokens: number;
}
