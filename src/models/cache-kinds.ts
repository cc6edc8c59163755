import { CacheKind } from "../contract/gen/quire/v1/prompt_cache.js";

/** The catalogue's names for what a provider's cache does, as the contract has them. */
export const cacheKinds = {
  none: CacheKind.NONE,
  prefix: CacheKind.PREFIX,
  breakpoints: CacheKind.BREAKPOINTS,
} as const;
