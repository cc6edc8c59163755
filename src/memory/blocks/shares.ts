import { toMicroseconds } from "../../domain/clock.js";
import {
  ActorKind,
  type BlockActor,
  type BlockName,
  BlockPermission,
  type BlockShare,
  OwnerKind,
} from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { MemoryDeps } from "../deps.js";
import { actorOf } from "../permissions.js";
import { placeOf } from "./block-place.js";
import { findBlock } from "./get-block.js";
import { viewShare } from "./views.js";

const maxShares = 1_000;

export interface ShareBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly agent: string;
  readonly permission: BlockPermission;
}

/** Lets an agent use a block, or changes what it may do with it. */
export async function shareBlock(
  deps: MemoryDeps,
  key: WriteKey<{ readonly share: BlockShare | undefined }>,
  { block, actor: given, agent, permission: asked }: ShareBlock,
): Promise<{ readonly share: BlockShare | undefined }> {
  const actor = actorOf(given);
  const permission = asked === BlockPermission.UNSPECIFIED ? BlockPermission.READ_ONLY : asked;
  return deps.writer.write(key, placeOf(block!), (draft) => {
    const row = draft.require(actor);
    draft.requireRight(actor, "admin");
    if (draft.owner.kind === OwnerKind.AGENT && draft.owner.name === agent)
      throw QuireError.field("INVALID_FIELD", "agent", "is the owner, who needs no share");
    const before = draft.shareOf(agent);
    if (!before && draft.shareCount >= maxShares) {
      throw new QuireError(
        "LIMIT_REACHED",
        `the block is shared with ${maxShares} agents, as many as it may be`,
        {
          metadata: { limit: "shares", max: String(maxShares), label: row.label },
        },
      );
    }
    const createdUs = before?.createdUs ?? toMicroseconds(draft.nowMs);
    const share = { tenantId: key.tenantId, blockId: row.id, agent, permission, createdUs };
    draft.newShares.set(agent, share);
    draft.unshared.delete(agent);
    return () => ({ share: viewShare(share) });
  });
}

export interface UnshareBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly agent: string;
}

/** Takes a block away from an agent again. */
export async function unshareBlock(
  deps: MemoryDeps,
  key: WriteKey<object>,
  { block, actor: given, agent }: UnshareBlock,
): Promise<object> {
  const actor = actorOf(given);
  return deps.writer.write(key, placeOf(block!), (draft) => {
    const { label } = draft.require(actor);
    const isGivingUp = actor.kind === ActorKind.AGENT && actor.name === agent;
    if (!isGivingUp) draft.requireRight(actor, "admin");
    if (!draft.shareOf(agent)) {
      const message = `the block ${JSON.stringify(label)} is not shared with ${JSON.stringify(agent)}`;
      throw new QuireError("SHARE_NOT_FOUND", message, { metadata: { label, agent } });
    }
    draft.newShares.delete(agent);
    draft.unshared.add(agent);
    return () => ({});
  });
}

/** Whom a block is shared with. */
export async function listShares(
  deps: MemoryDeps,
  tenantId: string,
  { block, actor }: { readonly block: BlockName | undefined; readonly actor: BlockActor | undefined },
): Promise<{ readonly shares: readonly BlockShare[] }> {
  return deps.store.reading(async (reads) => {
    const { row } = await findBlock(reads, tenantId, block!, actorOf(actor));
    return { shares: (await reads.shares(tenantId, row.id)).map(viewShare) };
  });
}
