import {
  ActorKind,
  type Block,
  type BlockActor,
  type BlockOwner,
  type BlockPermission,
  BlockType,
} from "../../domain/memory.js";
import { type BlockPosition, positionOf } from "../../storage/memory/block-store.js";
import { readPageToken, writePageToken } from "../../storage/page-token.js";
import type { MemoryDeps } from "../deps.js";
import { actorOf, weaker } from "../permissions.js";
import { ownerOf } from "./block-place.js";
import { viewBareBlock } from "./views.js";

export interface ListBlocks {
  readonly owner: BlockOwner | undefined;
  readonly actor: BlockActor | undefined;
  readonly type: BlockType;
  readonly labelPrefix: string;
  readonly shared?: boolean | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
}

export interface BlockPage {
  readonly blocks: readonly Block[];
  readonly nextPageToken: string;
}

/** A page of blocks by owner and label, without their content. */
export async function listBlocks(
  deps: MemoryDeps,
  tenantId: string,
  command: ListBlocks,
): Promise<BlockPage> {
  const { owner, type, labelPrefix, shared, pageSize, pageToken } = command;
  const actor = actorOf(command.actor);
  const after = pageToken === "" ? undefined : readPageToken("blocks", pageToken, ["", "", ""]);
  const filter = {
    owner: owner && ownerOf(owner),
    agent: actor.kind === ActorKind.AGENT ? actor.name : undefined,
    type: type === BlockType.UNSPECIFIED ? undefined : type,
    labelPrefix,
    shared,
  };
  const found = await deps.store.list(tenantId, filter, after as BlockPosition | undefined, pageSize + 1);
  const page = found.slice(0, pageSize);
  const nextPageToken =
    found.length > page.length ? writePageToken("blocks", positionOf(page.at(-1)!.row)) : "";
  const blocks = page.map(({ row, sharePermission }) => {
    const own = row.permission as BlockPermission;
    const permission = sharePermission ? weaker(own, sharePermission as BlockPermission) : own;
    return viewBareBlock(row, { permission, isShared: sharePermission !== undefined });
  });
  return { blocks, nextPageToken };
}
