import type { BoundedCache } from "../domain/bounded-cache.js";
import type { Caches } from "../domain/caches.js";
import {
  ActorKind,
  type BlockActor,
  type BlockOwner,
  type BlockPermission,
  type BlockSchema,
  BlockType,
  type OwnerKind,
  type RevisionKind,
} from "../domain/memory.js";
import { megabyte, textBytes } from "../domain/memory-size.js";
import type { Soon } from "../domain/soon.js";
import type { Database } from "../storage/database.js";
import {
  type AgentBlockRow,
  AgentBlocks,
  type ChangedBlockRow,
  type ChangeRow,
  type Marked,
} from "../storage/memory/agent-blocks.js";
import { textOf } from "../storage/memory/rows.js";
import { blockNotFound } from "./blocks/block-not-found.js";
import { decodeSchema } from "./memory-codec.js";
import { weaker } from "./permissions.js";

/** A block as a context shows it. */
export interface ContextBlock {
  readonly label: string;
  readonly owner: BlockOwner;
  readonly isShared: boolean;
  readonly permission: BlockPermission;
  readonly description: string;
  readonly schema: BlockSchema;
  readonly revision: number;
  readonly text: string;
  /** Whether it has more characters than it may. */
  readonly isOverLimit: boolean;
}

/** What an agent's contexts show. */
export interface ContextBlocks {
  /** Core blocks, then pinned working blocks; each by owner and label, the agent's own first. */
  readonly system: readonly ContextBlock[];
  /** Those that the request names, in its order, but for those in the system prompt. */
  readonly named: readonly ContextBlock[];
}

/** The newest change that somebody made to a block. */
export interface RecentChange {
  readonly label: string;
  readonly owner: BlockOwner;
  readonly isShared: boolean;
  readonly kind: RevisionKind;
  readonly actor: BlockActor;
  readonly atUs: bigint;
}

export const noBlocks: ContextBlocks = { system: [], named: [] };
const noChanges: readonly RecentChange[] = [];

/** How many of a block's newest changes a context asks about. */
const mostChanges = 64;

const maxCacheBytes = 16 * megabyte;

/** Reads blocks for assemblies: one query says which there are, and texts are read once for each revision. No document is opened. */
export class BlockReader {
  private readonly blocks: AgentBlocks;
  private readonly texts: BoundedCache<ContextBlock>;
  private readonly lists: BoundedCache<ContextBlocks>;
  private readonly changes: BoundedCache<readonly ChangeRow[]>;
  private readonly news: BoundedCache<readonly RecentChange[]>;

  constructor(database: Database, caches: Caches) {
    this.blocks = new AgentBlocks(database);
    this.texts = caches.create<ContextBlock>(
      "memory blocks",
      maxCacheBytes,
      ({ text, description }) => 1_024 + textBytes(text) + textBytes(description),
    );
    this.lists = caches.create<ContextBlocks>(
      "memory blocks of contexts",
      megabyte,
      ({ system, named }) => 256 + 64 * (system.length + named.length),
    );
    this.changes = caches.create<readonly ChangeRow[]>(
      "changes of memory blocks",
      2 * megabyte,
      (rows) => 256 + 192 * rows.length,
    );
    this.news = caches.create<readonly RecentChange[]>(
      "news of memory blocks",
      megabyte,
      (changes) => 256 + 192 * changes.length,
    );
  }

  /** Where the blocks of a label are that an agent can use: its own first. */
  async locate(tenantId: string, agent: string, label: string): Promise<readonly BlockOwner[]> {
    const { rows } = await this.blocks.find(tenantId, agent, [label]);
    return rows
      .filter((row) => row.label === label)
      .map(({ ownerKind, ownerName }) => ({ kind: ownerKind as OwnerKind, name: ownerName }));
  }

  /** What others than the agent changed of the blocks that it can use: for each block and actor the newest change. */
  changesByOthers(tenantId: string, agent: string, sinceUs: bigint): Soon<readonly RecentChange[]> {
    const mayBe = this.blocks.mayHaveChanged(tenantId, agent, sinceUs);
    const read = (isSo: boolean) => (isSo ? this.changesSince(tenantId, agent, sinceUs) : noChanges);
    return mayBe instanceof Promise ? mayBe.then(read) : read(mayBe);
  }

  private changesSince(tenantId: string, agent: string, sinceUs: bigint): Soon<readonly RecentChange[]> {
    const since = (news: readonly RecentChange[]) => news.filter(({ atUs }) => atUs > sinceUs);
    const tell = (changed: Marked<ChangedBlockRow>) => {
      const key = `${tenantId}/${agent}/${changed.mark}`;
      const known = this.news.get(key);
      return known ? since(known) : this.readNews(tenantId, agent, changed.rows, key).then(since);
    };
    const changed = this.blocks.lastChanged(tenantId, agent);
    return changed instanceof Promise ? changed.then(tell) : tell(changed);
  }

  private async readNews(
    tenantId: string,
    agent: string,
    blocks: readonly ChangedBlockRow[],
    key: string,
  ): Promise<readonly RecentChange[]> {
    const news: RecentChange[] = [];
    for (const block of blocks) {
      const { label, isShared } = block;
      const owner = { kind: block.ownerKind as OwnerKind, name: block.ownerName };
      const actors = new Set<string>();
      for (const row of await this.changesOf(tenantId, block)) {
        const actor = { kind: row.actorKind as ActorKind, name: row.actorName };
        const who = `${actor.kind} ${actor.name}`;
        if ((actor.kind === ActorKind.AGENT && actor.name === agent) || actors.has(who)) continue;
        actors.add(who);
        news.push({ label, owner, isShared, kind: row.kind as RevisionKind, actor, atUs: row.createdUs });
      }
    }
    this.news.set(key, news);
    return news;
  }

  /** Read once for each revision. */
  private async changesOf(
    tenantId: string,
    block: Pick<ChangedBlockRow, "id" | "revision">,
  ): Promise<readonly ChangeRow[]> {
    const key = `${tenantId}/${block.id}/${block.revision}`;
    const known = this.changes.get(key);
    if (known) return known;
    const read = await this.blocks.changes(tenantId, block, mostChanges);
    this.changes.set(key, read);
    return read;
  }

  /** What an agent's context shows. The same blocks at the same revisions are the same object. */
  forContext(tenantId: string, agent: string, names: readonly string[]): Soon<ContextBlocks> {
    const found = this.blocks.find(tenantId, agent, names);
    const show = (blocks: Marked<AgentBlockRow>) => this.shown(tenantId, agent, names, blocks);
    return found instanceof Promise ? found.then(show) : show(found);
  }

  private shown(
    tenantId: string,
    agent: string,
    names: readonly string[],
    { rows, mark }: Marked<AgentBlockRow>,
  ): Soon<ContextBlocks> {
    if (rows.length === 0 && names.length === 0) return noBlocks;
    const key = JSON.stringify([tenantId, agent, names, mark]);
    return this.lists.get(key) ?? this.read(tenantId, agent, names, rows, key);
  }

  private async read(
    tenantId: string,
    agent: string,
    names: readonly string[],
    rows: readonly AgentBlockRow[],
    listKey: string,
  ): Promise<ContextBlocks> {
    const keys = rows.map((row) => `${row.id}/${row.revision}/${row.sharePermission ?? ""}`);
    const missing = rows.filter((_, index) => !this.texts.get(`${tenantId}/${keys[index]}`));
    const read = await this.blocks.contents(tenantId, missing);
    const blocks = rows.map((row, index) => {
      const key = `${tenantId}/${keys[index]}`;
      const found = this.texts.get(key) ?? viewOf(row, read.get(row.id));
      if (found) this.texts.set(key, found);
      return found;
    });
    const result = sorted(rows, blocks, agent, names);
    this.lists.set(listKey, result);
    return result;
  }
}

type Content = Awaited<ReturnType<AgentBlocks["contents"]>> extends ReadonlyMap<string, infer C> ? C : never;

function viewOf(row: AgentBlockRow, content: Content | undefined): ContextBlock | undefined {
  // Deleted or changed between the two queries: what is there no more is not shown.
  if (!content) return undefined;
  const own = content.permission as BlockPermission;
  return {
    label: row.label,
    owner: { kind: row.ownerKind as OwnerKind, name: row.ownerName },
    isShared: row.sharePermission !== undefined,
    permission: row.sharePermission === undefined ? own : weaker(own, row.sharePermission as BlockPermission),
    description: content.description,
    schema: decodeSchema(content.schema),
    revision: content.revision,
    text: textOf(content),
    isOverLimit: content.chars > content.charLimit,
  };
}

function sorted(
  rows: readonly AgentBlockRow[],
  blocks: readonly (ContextBlock | undefined)[],
  agent: string,
  names: readonly string[],
): ContextBlocks {
  const shown = rows.flatMap((row, index) => (blocks[index] ? [{ row, block: blocks[index] }] : []));
  const isCore = ({ row }: (typeof shown)[number]) => row.type === BlockType.CORE;
  const isPinned = ({ row }: (typeof shown)[number]) => row.type === BlockType.WORKING && row.pinned;
  const system = [...shown.filter(isCore), ...shown.filter(isPinned)];
  const named = [...new Set(names)].flatMap((name) => {
    const found = shown.filter(({ block }) => block.label === name);
    if (found.length === 0) throw blockNotFound({ ownerName: agent, label: name });
    return found.filter((one) => !system.includes(one));
  });
  return { system: system.map(({ block }) => block), named: named.map(({ block }) => block) };
}
