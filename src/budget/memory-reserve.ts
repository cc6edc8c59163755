import { least, type ModelTokens, modelTokens } from "../domain/token-units.js";

interface ReserveInputs {
  /** What the settings keep free for memory, whatever there is to recall. */
  readonly set: number | undefined;
  /** Memory's share of what is available. */
  readonly laneTokens: ModelTokens;
  /** The most that a recall gives. */
  readonly recallLimitTokens: ModelTokens;
  /** What can be recalled at all. */
  readonly recallableTokens: ModelTokens;
}

/** What history leaves free for memory. In powers of two, so that it does not change with everything that is remembered. */
export function memoryReserve({
  set,
  laneTokens,
  recallLimitTokens,
  recallableTokens,
}: ReserveInputs): ModelTokens {
  if (set !== undefined) return modelTokens(set);
  const wanted = least(least(laneTokens, recallLimitTokens), recallableTokens);
  return modelTokens(wanted > 0 ? 2 ** Math.ceil(Math.log2(wanted)) : 0);
}
