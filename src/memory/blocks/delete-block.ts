import type { BlockActor, BlockName } from "../../domain/memory.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { MemoryDeps } from "../deps.js";
import { actorOf } from "../permissions.js";
import { placeOf } from "./block-place.js";

export interface DeletedBlock {
  readonly deletedRevisions: number;
}

/** Removes a block with its revisions and shares. */
export async function deleteBlock(
  deps: MemoryDeps,
  key: WriteKey<DeletedBlock>,
  { block, actor: given }: { readonly block: BlockName | undefined; readonly actor: BlockActor | undefined },
): Promise<DeletedBlock> {
  const actor = actorOf(given);
  return deps.writer.write(key, placeOf(block!), (draft) => {
    const { revision: deletedRevisions } = draft.require(actor);
    draft.requireRight(actor, "admin");
    draft.row = undefined;
    return () => ({ deletedRevisions });
  });
}
