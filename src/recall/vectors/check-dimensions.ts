import { EndpointFailure } from "../../endpoints/call-failure.js";
import type { KnownEmbedder } from "../../storage/recall/vector-store.js";
import type { DocumentVector } from "./vector-index.js";

/** Vectors of two sizes cannot be compared: a model that changed under its name must get another. */
export function checkDimensions({ dimensions }: KnownEmbedder, entries: readonly DocumentVector[]): void {
  const other = entries.find(({ vector }) => vector.length !== dimensions);
  if (other)
    throw new EndpointFailure(
      `made a vector of ${other.vector.length} dimensions, where it made ${dimensions} before`,
    );
}
