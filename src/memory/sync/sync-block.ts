import { randomBytes } from "node:crypto";
import { toMicroseconds } from "../../domain/clock.js";
import type { Block, BlockActor, BlockName } from "../../domain/memory.js";
import { RevisionKind } from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { BlockReads } from "../../storage/memory/block-reads.js";
import type { BlockRow } from "../../storage/memory/rows.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { BlockDraft } from "../blocks/block-draft.js";
import { placeOf } from "../blocks/block-place.js";
import { findSeen } from "../blocks/get-block.js";
import { viewBlock } from "../blocks/views.js";
import type { MemoryDeps } from "../deps.js";
import type { PeerVersion } from "../document/block-document.js";
import { type Actor, actorName, actorOf, isOwn, isSystem, notAllowed, rightOf } from "../permissions.js";
import type { Verdict } from "./update-checker.js";

export interface SyncBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly update: Uint8Array;
  readonly version: readonly PeerVersion[];
  readonly newPeer: boolean;
}

export interface SyncedBlock {
  readonly block: Block | undefined;
  readonly update: Buffer;
  readonly version: readonly PeerVersion[];
  readonly peerId: string;
}

const maxPeers = 10_000;

/** What was found of an update, and of which state of the block that is true. */
interface Judgement {
  readonly row: BlockRow;
  readonly permission: string;
  readonly checked: Verdict;
}

/** Takes a client's update, once every operation of it was looked at, and gives what the client lacks. */
export async function syncBlock(
  deps: MemoryDeps,
  key: WriteKey<SyncedBlock>,
  { block, actor: given, update, version, newPeer }: SyncBlock,
): Promise<SyncedBlock> {
  const actor = actorOf(given);
  const place = placeOf(block!);
  let verdict: Judgement | undefined;
  let peerCount = 0;
  return deps.writer.write(
    key,
    place,
    (draft) => {
      draft.require(actor);
      if (update.length > 0) merge(draft, actor, update, verdict);
      const peerId = newPeer ? givePeer(draft, actor, peerCount) : "";
      const state = draft.stateSince(version);
      const seen = { permission: draft.permissionFor(actor), isShared: !isOwn(actor, draft.owner) };
      return (row) => ({ block: viewBlock(row!, seen), ...state, peerId });
    },
    async (reads, row) => {
      verdict = row && update.length > 0 ? await judge(deps, reads, row, actor, update) : undefined;
      peerCount = row && newPeer ? await reads.countPeers(row.tenantId, row.id) : 0;
      return verdict?.checked.kind === "fine" ? verdict.checked.merged : undefined;
    },
  );
}

async function judge(
  { checker }: MemoryDeps,
  reads: BlockReads,
  row: BlockRow,
  actor: Actor,
  update: Uint8Array,
): Promise<Judgement | undefined> {
  const seen = await findSeen(reads, row, actor);
  if (!seen) return undefined;
  const peers = await reads.peersOf(row.tenantId, row.id, actor.kind, actor.name);
  const checked = await checker.check(reads, row, {
    update,
    schema: Buffer.from(row.schema),
    peers,
    right: rightOf(actor, seen.permission),
    isSystem: isSystem(actor),
    author: actor.name || actorName(actor),
  });
  return { row, permission: seen.permission, checked };
}

function merge(draft: BlockDraft, actor: Actor, update: Uint8Array, verdict: Judgement | undefined): void {
  const { label } = draft.place;
  const permission = draft.permissionFor(actor);
  // A write of the same batch may have changed what holds for the block.
  const isOutdated =
    !verdict ||
    verdict.row.id !== draft.row!.id ||
    verdict.permission !== permission ||
    !Buffer.from(verdict.row.schema).equals(Buffer.from(draft.row!.schema));
  if (isOutdated) throw changedMeanwhile(draft);
  const { checked } = verdict;
  if (checked.kind === "not allowed") {
    const { needs, section, field } = checked;
    const where = {
      ...(section === undefined ? {} : { section }),
      ...(field === undefined ? {} : { field }),
    };
    throw notAllowed(actor, permission, needs, label, where);
  }
  if (checked.kind === "refused") {
    throw new QuireError("UPDATE_REFUSED", `the update is refused: ${checked.why}`, {
      metadata: { label, why: checked.why },
    });
  }
  if (checked.newOps === 0) return;
  const { doc } = draft.touch();
  if (!checked.merged) {
    const { success, pending } = doc.import(update);
    const spans = [...(success as unknown as ReadonlyMap<string, { start: number; end: number }>).values()];
    // What it follows, and was in order, may have been refused all the same: for its size, or since it came too late.
    if (pending || spans.reduce((sum, { start, end }) => sum + end - start, 0) !== checked.newOps)
      throw changedMeanwhile(draft);
  }
  draft.revise({ kind: RevisionKind.SYNC, actor, summary: `synchronized ${checked.newOps} operations` });
}

function changedMeanwhile(draft: BlockDraft): QuireError {
  const { label } = draft.place;
  const metadata = { label, revision: String(draft.row!.revision), text: "" };
  const message = `the block ${JSON.stringify(label)} was changed meanwhile; try again`;
  return new QuireError("BLOCK_CHANGED", message, { metadata });
}

/** A peer id that nobody has: servers have those with the first bit set. */
function givePeer(draft: BlockDraft, actor: Actor, count: number): string {
  if (count >= maxPeers) {
    throw new QuireError("LIMIT_REACHED", `the block has ${maxPeers} peers, as many as it may have`, {
      metadata: { limit: "peers", max: String(maxPeers), label: draft.place.label },
    });
  }
  const peer = String(randomBytes(8).readBigUInt64BE() >> 1n);
  draft.peers.push({
    tenantId: draft.tenantId,
    blockId: draft.row!.id,
    peer,
    actorKind: actor.kind,
    actorName: actor.name,
    createdUs: toMicroseconds(draft.nowMs),
  });
  return peer;
}
