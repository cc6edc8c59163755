import { fromMicroseconds } from "../../domain/clock.js";
import type {
  ActorKind,
  Block,
  BlockPermission,
  BlockRevision,
  BlockSchema,
  BlockShare,
  BlockType,
  OwnerKind,
  RevisionKind,
} from "../../domain/memory.js";
import { ownBytes } from "../../domain/memory-size.js";
import { type BlockRow, type RevisionRow, type ShareRow, textOf } from "../../storage/memory/rows.js";
import { decodeSchema } from "../memory-codec.js";
import { frameBlock } from "../rendering/frame-block.js";

/** Stored rows as the vocabulary shows them. */

export interface Seen {
  /** What the caller may do. */
  readonly permission: BlockPermission;
  readonly isShared: boolean;
}

/** A block with its content. */
export function viewBlock(row: BlockRow, seen: Seen, contentJson = ""): Block {
  const schema = decodeSchema(row.schema);
  const text = textOf(row);
  const bare = viewBareBlock(row, seen, schema);
  const framed = { ...bare, owner: bare.owner!, schema, isShared: seen.isShared, text };
  const rendered = frameBlock(framed, { includeDescription: true, includeSchema: false });
  return { ...bare, text, rendered, contentJson };
}

/** A block without its content. */
export function viewBareBlock(
  row: BlockRow,
  { permission, isShared }: Seen,
  schema: BlockSchema = decodeSchema(row.schema),
): Block {
  return {
    id: row.id,
    owner: { kind: row.ownerKind as OwnerKind, name: row.ownerName },
    label: row.label,
    type: row.type as BlockType,
    pinned: row.pinned,
    description: row.description,
    permission,
    charLimit: row.charLimit,
    schema,
    revision: row.revision,
    shared: isShared,
    text: "",
    rendered: "",
    chars: row.chars,
    o200kTokens: row.o200kTokens,
    hash: ownBytes(row.hash),
    createTime: fromMicroseconds(row.createdUs),
    updateTime: fromMicroseconds(row.updatedUs),
    contentJson: "",
  };
}

export function viewRevision(row: RevisionRow, update = Buffer.alloc(0)): BlockRevision {
  return {
    revision: row.revision,
    kind: row.kind as RevisionKind,
    actor: { kind: row.actorKind as ActorKind, name: row.actorName },
    summary: row.summary,
    createTime: fromMicroseconds(row.createdUs),
    hash: ownBytes(row.hash),
    update,
  };
}

export function viewShare({ agent, permission, createdUs }: ShareRow): BlockShare {
  return { agent, permission: permission as BlockPermission, createTime: fromMicroseconds(createdUs) };
}
