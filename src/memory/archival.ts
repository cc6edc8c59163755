import { fromMicroseconds, toMicroseconds } from "../domain/clock.js";
import {
  type ActorKind,
  type ArchivalEntry,
  type BlockActor,
  type BlockOwner,
  BlockPermission,
  type OwnerKind,
} from "../domain/memory.js";
import { QuireError } from "../errors/quire-error.js";
import { type ArchivalRow, bytesColumn } from "../storage/memory/rows.js";
import { readPageToken, writePageToken } from "../storage/page-token.js";
import type { WriteKey } from "../storage/stored-answers.js";
import { ownerOf } from "./blocks/block-place.js";
import type { MemoryDeps } from "./deps.js";
import { type Actor, actorOf, isOwn, notAllowed } from "./permissions.js";

export interface InsertArchival {
  readonly owner: BlockOwner | undefined;
  readonly actor: BlockActor | undefined;
  readonly content: string;
  readonly metadataJson: string;
}

export interface ArchivalAnswer {
  readonly entry: ArchivalEntry | undefined;
}

/** Keeps something for later. */
export function insertArchival(
  deps: MemoryDeps,
  key: WriteKey<ArchivalAnswer>,
  command: InsertArchival,
  signal?: AbortSignal,
): Promise<ArchivalAnswer> {
  return archive(deps, key, command, (entry) => ({ entry }), signal);
}

/** The same, for a caller with an answer of its own. */
export async function archive<Answer>(
  deps: MemoryDeps,
  key: WriteKey<Answer>,
  { owner, actor: given, content, metadataJson }: InsertArchival,
  answer: (entry: ArchivalEntry) => Answer,
  signal?: AbortSignal,
): Promise<Answer> {
  const actor = actorOf(given);
  const place = ownerOf(owner!);
  requireOwn(actor, place);
  const o200kTokens = await deps.counter.count(content, undefined, signal);
  const createdUs = toMicroseconds(deps.clock.now());
  return deps.store.writeArchival(key, createdUs, async (entries) => {
    const row: ArchivalRow = {
      tenantId: key.tenantId,
      id: deps.ids.next(),
      ...place,
      content: bytesColumn(Buffer.from(content)),
      metadataJson,
      actorKind: actor.kind,
      actorName: actor.name,
      o200kTokens,
      createdUs,
    };
    await entries.insert(row);
    return answer(viewEntry(row));
  });
}

interface ListArchival {
  readonly owner: BlockOwner | undefined;
  readonly actor: BlockActor | undefined;
  readonly pageSize: number;
  readonly pageToken: string;
}

/** A page of archival entries, newest first. */
export async function listArchival(
  deps: MemoryDeps,
  tenantId: string,
  { owner, actor, pageSize, pageToken }: ListArchival,
): Promise<{ readonly entries: readonly ArchivalEntry[]; readonly nextPageToken: string }> {
  const place = ownerOf(owner!);
  requireOwn(actorOf(actor), place);
  const list = `archival entries ${place.ownerKind} ${place.ownerName}`;
  const [before] = readPageToken(list, pageToken, [""]);
  const found = await deps.store.listArchival(tenantId, place, before!, pageSize + 1);
  const page = found.slice(0, pageSize);
  const nextPageToken = found.length > page.length ? writePageToken(list, [page.at(-1)!.id]) : "";
  return { entries: page.map(viewEntry), nextPageToken };
}

/** Removes an archival entry. */
export async function deleteArchival(
  deps: MemoryDeps,
  key: WriteKey<object>,
  { id, actor: given }: { readonly id: string; readonly actor: BlockActor | undefined },
): Promise<object> {
  const actor = actorOf(given);
  return deps.store.writeArchival(key, toMicroseconds(deps.clock.now()), async (entries) => {
    const row = await entries.find(id);
    if (!row || !isOwn(actor, { kind: row.ownerKind as OwnerKind, name: row.ownerName }))
      throw new QuireError("ARCHIVAL_NOT_FOUND", `there is no archival entry ${id}`, { metadata: { id } });
    await entries.remove(id);
    return {};
  });
}

/** An agent keeps and reads only what is its own. */
function requireOwn(actor: Actor, { ownerKind, ownerName }: { ownerKind: string; ownerName: string }): void {
  if (isOwn(actor, { kind: ownerKind as OwnerKind, name: ownerName })) return;
  throw notAllowed(actor, BlockPermission.READ_ONLY, "append", "archival");
}

function viewEntry(row: ArchivalRow): ArchivalEntry {
  return {
    id: row.id,
    owner: { kind: row.ownerKind as OwnerKind, name: row.ownerName },
    content: Buffer.from(row.content).toString("utf8"),
    metadataJson: row.metadataJson,
    createTime: fromMicroseconds(row.createdUs),
    actor: { kind: row.actorKind as ActorKind, name: row.actorName },
    o200kTokens: row.o200kTokens,
  };
}
