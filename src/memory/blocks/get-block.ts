import type {
  Block,
  BlockActor,
  BlockName,
  BlockPermission,
  BlockSchema,
  OwnerKind,
} from "../../domain/memory.js";
import type { BlockReads } from "../../storage/memory/block-reads.js";
import { type BlockRow, textOf } from "../../storage/memory/rows.js";
import type { MemoryDeps } from "../deps.js";
import type { BlockDocument } from "../document/block-document.js";
import { decodeSchema } from "../memory-codec.js";
import { type Actor, actorOf, isOwn, weaker } from "../permissions.js";
import { blockNotFound } from "./block-not-found.js";
import { placeOf } from "./block-place.js";
import { type Seen, viewBlock } from "./views.js";

/** A block as an actor sees it. */
export interface FoundBlock {
  readonly row: BlockRow;
  readonly seen: Seen;
}

/** The block of a name, if the actor may see it. */
export async function findBlock(
  reads: BlockReads,
  tenantId: string,
  name: BlockName,
  actor: Actor,
): Promise<FoundBlock> {
  const place = placeOf(name);
  const row = await reads.find(tenantId, place);
  const seen = row && (await findSeen(reads, row, actor));
  if (!row || !seen) throw blockNotFound(place);
  return { row, seen };
}

/** What an actor may do to a block; undefined where it does not see it. */
export async function findSeen(reads: BlockReads, row: BlockRow, actor: Actor): Promise<Seen | undefined> {
  const own = row.permission as BlockPermission;
  if (isOwn(actor, { kind: row.ownerKind as OwnerKind, name: row.ownerName }))
    return { permission: own, isShared: false };
  const shares = await reads.shares(row.tenantId, row.id);
  const share = shares.find(({ agent }) => agent === actor.name);
  return share && { permission: weaker(own, share.permission as BlockPermission), isShared: true };
}

/** A block with its content, rendered and as JSON. */
export async function getBlock(
  deps: MemoryDeps,
  tenantId: string,
  { block, actor }: { readonly block: BlockName | undefined; readonly actor: BlockActor | undefined },
): Promise<{ readonly block: Block }> {
  return deps.store.reading(async (reads) => {
    const { row, seen } = await findBlock(reads, tenantId, block!, actorOf(actor));
    const schema = decodeSchema(row.schema);
    const json = isShownWhole(schema)
      ? JSON.stringify(textOf(row))
      : await withDocument(deps, reads, row, (document) => document.contentJson(schema));
    return { block: viewBlock(row, seen, json) };
  });
}

/** Whether what is rendered is all that there is, so that the document need not be opened to know it. */
function isShownWhole({ schema }: BlockSchema): boolean {
  return schema?.$case === "text" && schema.value.viewport === undefined;
}

/** Looks into a block's document, at its revision or a later one. */
export async function withDocument<T>(
  { documents }: Pick<MemoryDeps, "documents">,
  reads: BlockReads,
  { tenantId, id, revision }: BlockRow,
  look: (document: BlockDocument) => T,
): Promise<T> {
  const document = await documents.take(reads, tenantId, id, revision);
  try {
    return look(document);
  } finally {
    documents.giveBack(tenantId, id, document);
  }
}
