import { QuireError } from "../../errors/quire-error.js";
import type { BlockPlace } from "../../storage/memory/block-reads.js";

export function blockNotFound({ ownerName, label }: Pick<BlockPlace, "ownerName" | "label">): QuireError {
  return new QuireError(
    "BLOCK_NOT_FOUND",
    `${JSON.stringify(ownerName)} has no block ${JSON.stringify(label)}`,
    {
      metadata: { owner: ownerName, label },
    },
  );
}
