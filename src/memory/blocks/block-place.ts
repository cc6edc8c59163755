import { type BlockName, type BlockOwner, OwnerKind } from "../../domain/memory.js";
import type { BlockPlace } from "../../storage/memory/block-reads.js";

/** Where a block is stored that a request names. */
export function placeOf({ owner, label }: BlockName): BlockPlace {
  return { ...ownerOf(owner!), label };
}

export function ownerOf({ kind, name }: BlockOwner): Pick<BlockPlace, "ownerKind" | "ownerName"> {
  return { ownerKind: kind === OwnerKind.UNSPECIFIED ? OwnerKind.AGENT : kind, ownerName: name };
}
