import { ActorKind, type BlockActor, type BlockOwner, OwnerKind } from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { DocumentKind, Partition, SearchStore, ThreadRange } from "../../storage/recall/search-store.js";
import { agentOf } from "../indexing/draft-documents.js";

/** Who asks, whose memory is searched, and for what. */
export interface ScopeRequest {
  readonly actor: BlockActor;
  /** All that the asker may read, where none is named. */
  readonly owner: BlockOwner | undefined;
  readonly kinds: ReadonlySet<DocumentKind>;
  /** Only what was said in this session's thread. */
  readonly session: string | undefined;
}

/** What a search may see. Nothing else is looked at. */
export interface Scope {
  readonly partitions: readonly Partition[];
  /** Of these partitions, only these blocks. */
  readonly onlyBlocks: ReadonlyMap<number, ReadonlySet<string>>;
  /** Only messages of these ranges, where a session is named. */
  readonly thread: readonly ThreadRange[] | undefined;
}

/** More owners than these are not searched at once. */
export const maxPartitions = 1_000;

/**
 * An agent sees its own blocks, entries and sessions, and the blocks that are shared with it. Everybody else sees all, as with the
 * other calls on memory.
 */
export async function resolveScope(
  store: SearchStore,
  tenantId: string,
  { actor, owner, kinds, session }: ScopeRequest,
): Promise<Scope> {
  const agent = actor.kind === ActorKind.AGENT ? actor.name : undefined;
  if (session !== undefined) return threadScope(store, tenantId, session, agent, kinds);
  const ofOwner = owner && {
    ownerKind: owner.kind === OwnerKind.UNSPECIFIED ? OwnerKind.AGENT : owner.kind,
    ownerName: owner.name,
  };
  const none = new Map<number, ReadonlySet<string>>();
  if (agent === undefined) {
    const owners = ofOwner && [...kinds].map((kind) => ({ kind, ...ofOwner }));
    const partitions = await store.partitions(tenantId, owners, maxPartitions);
    return {
      partitions: partitions.filter(({ kind }) => kinds.has(kind)),
      onlyBlocks: none,
      thread: undefined,
    };
  }
  const own = { ownerKind: OwnerKind.AGENT, ownerName: agent };
  const isOwn = (one: { readonly ownerKind: string; readonly ownerName: string }) =>
    one.ownerKind === own.ownerKind && one.ownerName === own.ownerName;
  const isAsked = (one: { readonly ownerKind: string; readonly ownerName: string }) =>
    !ofOwner || (one.ownerKind === ofOwner.ownerKind && one.ownerName === ofOwner.ownerName);
  const shared = kinds.has("block")
    ? (await store.sharedBlocks(tenantId, agent)).filter((one) => !isOwn(one) && isAsked(one))
    : [];
  const owners = [
    ...(isAsked(own) ? [...kinds].map((kind) => ({ kind, ...own })) : []),
    ...shared.map(({ ownerKind, ownerName }) => ({ kind: "block" as const, ownerKind, ownerName })),
  ];
  const partitions = await store.partitions(tenantId, uniqueOwners(owners), maxPartitions);
  const onlyBlocks = new Map(
    partitions
      .filter((partition) => !isOwn(partition))
      .map(({ id, ownerKind, ownerName }) => [
        id,
        new Set(
          shared
            .filter((one) => one.ownerKind === ownerKind && one.ownerName === ownerName)
            .map((one) => one.id),
        ),
      ]),
  );
  return { partitions, onlyBlocks, thread: undefined };
}

function uniqueOwners<Owner extends object>(owners: readonly Owner[]): Owner[] {
  return [...new Map(owners.map((owner) => [JSON.stringify(owner), owner])).values()];
}

async function threadScope(
  store: SearchStore,
  tenantId: string,
  name: string,
  agent: string | undefined,
  kinds: ReadonlySet<DocumentKind>,
): Promise<Scope> {
  const session = await store.session(tenantId, name);
  const isSeen = session && (agent === undefined || agentOf(session.defaultsJson) === agent);
  if (!isSeen)
    throw new QuireError("SESSION_NOT_FOUND", `there is no session ${JSON.stringify(name)}`, {
      metadata: { session: name },
    });
  const thread = await store.thread(tenantId, session.headBranchId, session.headDepth);
  return scopeOfThread(store, tenantId, kinds.has("message") ? thread : []);
}

/** The messages of a thread, whoever wrote them. */
export async function scopeOfThread(
  store: SearchStore,
  tenantId: string,
  thread: readonly ThreadRange[],
): Promise<Scope> {
  const partitions = await store.partitionsOfThread(tenantId, thread);
  return { partitions, onlyBlocks: new Map(), thread };
}
