import {
  ActorKind,
  type Block,
  type BlockActor,
  type BlockOwner,
  type BlockRevision,
} from "../../domain/memory.js";
import { ownerOf } from "../blocks/block-place.js";
import { listBlocks } from "../blocks/list-blocks.js";
import { viewRevision } from "../blocks/views.js";
import type { MemoryDeps } from "../deps.js";
import { actorOf, isOwn } from "../permissions.js";

export interface WatchBlocks {
  readonly owner: BlockOwner | undefined;
  readonly actor: BlockActor | undefined;
  readonly label: string;
  readonly after: readonly { readonly label: string; readonly revision: number }[];
}

export type BlockEvent =
  | { readonly $case: "watching"; readonly value: { readonly blocks: readonly Block[] } }
  | {
      readonly $case: "changed";
      readonly value: { readonly blockId: string; readonly label: string; readonly revision: BlockRevision };
    }
  | { readonly $case: "deleted"; readonly value: { readonly blockId: string; readonly label: string } };

const shownBlocks = 1_000;
const pageSize = 100;

interface Known {
  readonly label: string;
  revision: number;
}

/**
 * The blocks that are watched, then each revision of them. They are read from the database, whichever server wrote them, so none is lost
 * or doubled. Nothing is kept for a client that is slow: it goes on where it was when it has room again.
 */
export async function* watchBlocks(
  deps: MemoryDeps,
  tenantId: string,
  { owner: given, actor, label, after }: WatchBlocks,
  signal?: AbortSignal,
): AsyncGenerator<BlockEvent> {
  const who = actorOf(actor);
  const owner = ownerOf(given!);
  const agent = who.kind === ActorKind.AGENT && !isOwn(who, given!) ? who.name : undefined;
  const wanted = { ...owner, label, agent };
  const watch = deps.watches.open(tenantId, owner, signal);
  try {
    const command = { owner: given, actor, type: "BLOCK_TYPE_UNSPECIFIED" as const, pageSize: shownBlocks };
    const { blocks } = await listBlocks(deps, tenantId, { ...command, labelPrefix: label, pageToken: "" });
    const known = new Map<string, Known>();
    const had = new Map(after.map((one) => [one.label, one.revision]));
    const first = await deps.store.reading((reads) => reads.watched(tenantId, wanted));
    for (const { id, label: name, revision } of first)
      known.set(id, { label: name, revision: Math.min(had.get(name) ?? revision, revision) });
    const watched = blocks.filter((block) => label === "" || block.label === label);
    yield { $case: "watching", value: { blocks: watched } };
    while (!signal?.aborted) {
      yield* news(deps, tenantId, wanted, known, signal);
      await watch.wait();
    }
  } finally {
    watch.close();
  }
}

async function* news(
  { store }: MemoryDeps,
  tenantId: string,
  wanted: Parameters<typeof store.reads.watched>[1],
  known: Map<string, Known>,
  signal: AbortSignal | undefined,
): AsyncGenerator<BlockEvent> {
  const rows = await store.reading((reads) => reads.watched(tenantId, wanted));
  const there = new Set(rows.map(({ id }) => id));
  for (const [blockId, { label }] of known) {
    if (there.has(blockId)) continue;
    known.delete(blockId);
    yield { $case: "deleted", value: { blockId, label } };
  }
  for (const { id, label, revision } of rows) {
    const state = known.get(id) ?? { label, revision: 0 };
    known.set(id, state);
    while (state.revision < revision && !signal?.aborted) {
      const after = state.revision;
      const page = await store.reading((reads) => reads.revisionsAfter(tenantId, id, after, pageSize));
      if (page.length === 0) break;
      for (const row of page) {
        state.revision = row.revision;
        const value = { blockId: id, label, revision: viewRevision(row, Buffer.from(row.update)) };
        yield { $case: "changed", value };
      }
    }
  }
}
