import type { CropRules, ImageRules, PatchRules, TileRules } from "./image-rules.js";

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Larger pictures are scaled down before anything else, whatever a header says. */
const mostPixels = 65_536;

/** What a picture of that size costs, in the model's tokens, by its provider's formula. */
export function imageTokens(rules: ImageRules, { width, height }: ImageSize): number {
  const size = { width: sane(width), height: sane(height) };
  switch (rules.kind) {
    case "flat":
      return rules.tokens;
    case "patches":
      return patchTokens(rules, size);
    case "tiles":
      return tileTokens(rules, size);
    case "crops":
      return cropTokens(rules, size);
  }
}

function sane(pixels: number): number {
  return Number.isFinite(pixels) ? Math.min(mostPixels, Math.max(1, Math.ceil(pixels))) : mostPixels;
}

function scaled({ width, height }: ImageSize, factor: number): ImageSize {
  return factor >= 1 ? { width, height } : { width: width * factor, height: height * factor };
}

function withinEdge(size: ImageSize, edge: number | undefined): ImageSize {
  return edge === undefined ? size : scaled(size, edge / Math.max(size.width, size.height));
}

function patchTokens(rules: PatchRules, given: ImageSize): number {
  const { patchPixels: patch, maxPatches, maxEdge, multiplier = 1, pixelsPerToken, wholePatches } = rules;
  const patches = ({ width, height }: ImageSize) => Math.ceil(width / patch) * Math.ceil(height / patch);
  let size = withinEdge(given, maxEdge);
  if (maxPatches !== undefined && patches(size) > maxPatches)
    size = wholePatches
      ? filled(size, patch, maxPatches)
      : largest(size, (each) => patches(each) <= maxPatches);
  const byArea = pixelsPerToken === undefined ? 0 : (size.width * size.height) / pixelsPerToken;
  // A product such as 64 * 1.2 is a hair more than it says in binary.
  return Math.ceil(Math.max(patches(size), byArea) * multiplier - 1e-6);
}

/** Scaled to the area of so many patches, and then until whole ones fill a side. */
function filled({ width, height }: ImageSize, patch: number, most: number): ImageSize {
  const factor = Math.sqrt((patch * patch * most) / (width * height));
  const across = (width * factor) / patch;
  const down = (height * factor) / patch;
  const whole = Math.min(Math.floor(across) / across, Math.floor(down) / down);
  const size = scaled({ width, height }, factor * (whole > 0 ? whole : 1));
  // What was a whole number must not become one more patch by rounding.
  return { width: Math.max(1, size.width - 1e-6), height: Math.max(1, size.height - 1e-6) };
}

/** The largest of that shape that is within a limit, to a thousandth. */
function largest(size: ImageSize, isWithin: (size: ImageSize) => boolean): ImageSize {
  let low = 0;
  let high = 1;
  while (high - low > 0.001) {
    const middle = (low + high) / 2;
    if (isWithin(scaled(size, middle))) low = middle;
    else high = middle;
  }
  return scaled(size, low);
}

function tileTokens(rules: TileRules, given: ImageSize): number {
  const { maxEdge, shortEdge, tilePixels: tile, baseTokens, tileTokens: each } = rules;
  const fitted = withinEdge(given, maxEdge);
  const { width, height } = scaled(fitted, shortEdge / Math.min(fitted.width, fitted.height));
  return baseTokens + Math.ceil(width / tile) * Math.ceil(height / tile) * each;
}

function cropTokens(rules: CropRules, given: ImageSize): number {
  const { smallEdge, minTile, maxTile, maxEdge, tileTokens: each } = rules;
  if (given.width <= smallEdge && given.height <= smallEdge) return each;
  const { width, height } = withinEdge(given, maxEdge);
  const tile = Math.min(maxTile, Math.max(minTile, Math.floor(Math.min(width, height) / 1.5)));
  return Math.ceil(width / tile) * Math.ceil(height / tile) * each;
}
