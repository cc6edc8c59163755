import type * as models from "../gen/sqlite/models.js";
import { TableShape } from "../ledger/rows.js";
import { asBuffer } from "../sql.js";

export type RevisionRow = models.MemoryRevisionModel;
export type ShareRow = models.MemoryShareModel;
export type PeerRow = models.MemoryPeerModel;
export type ArchivalRow = models.ArchivalEntryModel;

/** A block without its document. */
export type BlockRow = Omit<models.MemoryBlockModel, "snapshot" | "snapshotRevision" | "pinned"> & {
  readonly pinned: boolean;
};

/** A document, and the revision that it stands at. */
export type SnapshotRow = Pick<models.MemoryBlockModel, "snapshot" | "snapshotRevision">;

/** The generated types ask for bytes that own their memory, which no driver needs. */
export function bytesColumn(bytes: Uint8Array): BlockRow["schema"] {
  return bytes as BlockRow["schema"];
}

/** The text that a row holds, without a copy of its bytes. */
export function textOf({ text }: { readonly text: Uint8Array }): string {
  return asBuffer(text).toString("utf8");
}

/** The columns that a change of a block writes, in their order. */
export const blockShape = new TableShape<Omit<BlockRow, "pinned">>("memory_blocks", [
  ["tenantId", "tenant_id", "text"],
  ["id", "id", "text"],
  ["ownerKind", "owner_kind", "text"],
  ["ownerName", "owner_name", "text"],
  ["label", "label", "text"],
  ["type", "type", "text"],
  ["description", "description", "text"],
  ["permission", "permission", "text"],
  ["charLimit", "char_limit", "int"],
  ["schema", "schema", "bytes"],
  ["revision", "revision", "int"],
  ["text", "text", "bytes"],
  ["hash", "hash", "bytes"],
  ["chars", "chars", "int"],
  ["o200kTokens", "o200k_tokens", "int"],
  ["createdUs", "created_us", "bigint"],
  ["updatedUs", "updated_us", "bigint"],
]);

export const revisionShape = new TableShape<RevisionRow>("memory_revisions", [
  ["tenantId", "tenant_id", "text"],
  ["blockId", "block_id", "text"],
  ["revision", "revision", "int"],
  ["kind", "kind", "text"],
  ["actorKind", "actor_kind", "text"],
  ["actorName", "actor_name", "text"],
  ["summary", "summary", "text"],
  ["update", '"update"', "bytes"],
  ["frontiers", "frontiers", "text"],
  ["schema", "schema", "bytes"],
  ["hash", "hash", "bytes"],
  ["createdUs", "created_us", "bigint"],
]);

export const shareShape = new TableShape<ShareRow>("memory_shares", [
  ["tenantId", "tenant_id", "text"],
  ["blockId", "block_id", "text"],
  ["agent", "agent", "text"],
  ["permission", "permission", "text"],
  ["createdUs", "created_us", "bigint"],
]);

export const peerShape = new TableShape<PeerRow>("memory_peers", [
  ["tenantId", "tenant_id", "text"],
  ["blockId", "block_id", "text"],
  ["peer", "peer", "text"],
  ["actorKind", "actor_kind", "text"],
  ["actorName", "actor_name", "text"],
  ["createdUs", "created_us", "bigint"],
]);
