import { type Clock, toMicroseconds } from "../../domain/clock.js";
import { pausing } from "../../domain/pausing.js";
import { QuireError } from "../../errors/quire-error.js";
import type { StoredAnswerRow } from "../../storage/ledger/rows.js";
import { answerId, type BlockPlace, type BlockReads } from "../../storage/memory/block-reads.js";
import type { BlockCommit, BlockStore } from "../../storage/memory/block-store.js";
import { type BlockRow, textOf } from "../../storage/memory/rows.js";
import { replayAnswer, storedAnswerRow, type WriteKey } from "../../storage/stored-answers.js";
import { changedPart } from "../../tokens/changed-part.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { BlockDocument, MergedDocument } from "../document/block-document.js";
import type { DocumentCache } from "../document/document-cache.js";
import { BlockDraft } from "./block-draft.js";

/** After so many updates the whole document is stored anew: the tail that a reader imports stays short. */
const foldAfter = 100;
/** How many writes go into one transaction. */
const maxBatch = 64;
/** How often a batch is planned anew because another server was faster. */
const mostRaces = 50;

/** What a plan gives: its answer, once the tokens of the block's text are known. */
export type Planned<Answer> = (row: BlockRow | undefined) => Answer;

/**
 * Reads what only one write needs, before it is planned. Where it gives the document as the write makes it, that one is planned alone,
 * on this document.
 */
type Prepare = (reads: BlockReads, row: BlockRow | undefined) => Promise<MergedDocument | undefined>;

interface BlockWrite<Answer> {
  readonly key: WriteKey<Answer>;
  readonly prepare: Prepare | undefined;
  readonly plan: (draft: BlockDraft) => Planned<Answer>;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: writes of all answers wait in one line
type AnyWrite = BlockWrite<any>;

interface PlannedWrite {
  readonly answer: Planned<unknown>;
  readonly row: BlockRow | undefined;
}

interface Line {
  readonly waiting: AnyWrite[];
  isRunning: boolean;
}

interface WriterDeps {
  readonly store: BlockStore;
  readonly documents: DocumentCache;
  readonly counter: TokenCounter;
  readonly clock: Clock;
}

/** A write that was refused while the document was being changed: the others of its batch are planned again, without it. */
class Refused extends Error {
  override readonly name = "Refused";
}

/**
 * All writes to blocks. Those to one block go one after the other, as many as are waiting in one transaction: each sees what those
 * before it did, and is a revision of its own. What could not be stored leaves nothing behind, not even in the open document.
 */
export class BlockWriter {
  private readonly lines = new Map<string, Line>();
  private readonly listeners = new Set<(tenantId: string, place: BlockPlace) => void>();

  constructor(private readonly deps: WriterDeps) {}

  /** Calls back after a block was changed. */
  onChange(listener: (tenantId: string, place: BlockPlace) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  write<Answer>(
    key: WriteKey<Answer>,
    place: BlockPlace,
    plan: (draft: BlockDraft) => Planned<Answer>,
    prepare?: Prepare,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const name = JSON.stringify([key.tenantId, place.ownerKind, place.ownerName, place.label]);
      const line = this.lines.get(name) ?? { waiting: [], isRunning: false };
      this.lines.set(name, line);
      line.waiting.push({ key, prepare, plan, resolve, reject });
      if (line.isRunning) return;
      line.isRunning = true;
      setImmediate(() => this.run(name, line, key.tenantId, place));
    });
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    while (this.lines.size > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  private async run(name: string, line: Line, tenantId: string, place: BlockPlace): Promise<void> {
    while (line.waiting.length > 0) {
      const batch = line.waiting.splice(0, maxBatch);
      try {
        await this.runBatch(tenantId, place, batch);
      } catch (error) {
        for (const write of batch) write.reject(error);
      }
    }
    line.isRunning = false;
    this.lines.delete(name);
  }

  private async runBatch(tenantId: string, place: BlockPlace, batch: readonly AnyWrite[]): Promise<void> {
    let open = batch;
    for (let races = 0; open.length > 0; ) {
      const attempt = new Attempt(this.deps, tenantId, place, open);
      let isStored: boolean;
      try {
        isStored = await this.deps.store.write((reads, isLocked) => attempt.plan(reads, isLocked));
      } catch (error) {
        attempt.end(false);
        if (!(error instanceof QuireError && error.cause instanceof Refused)) throw error;
        open = attempt.settleRefused();
        continue;
      }
      attempt.end(isStored);
      if (isStored) {
        attempt.answer();
        if (attempt.isChanged) for (const listener of this.listeners) listener(tenantId, place);
        open = attempt.later;
      } else if (++races > mostRaces) {
        throw new QuireError("STORAGE_UNAVAILABLE", "the block is being written to all the time; try again", {
          retryAfterMs: 1_000,
        });
      } else open = attempt.settleRefused();
    }
  }
}

/** One try to plan and store a batch of writes to one block. */
class Attempt {
  private draft: BlockDraft | undefined;
  private document: BlockDocument | undefined;
  private isMerged = false;
  /** Large texts take their time: others get theirs between two steps. */
  private readonly pause = pausing();
  private readonly refused = new Map<AnyWrite, unknown>();
  private readonly answers = new Map<AnyWrite, unknown>();
  private before: BlockRow | undefined;
  /** The same request twice: the second is answered from what the first stores. */
  readonly later: AnyWrite[] = [];

  constructor(
    private readonly deps: WriterDeps,
    private readonly tenantId: string,
    private readonly place: BlockPlace,
    private readonly batch: readonly AnyWrite[],
  ) {}

  async plan(reads: BlockReads, isLocked: boolean): Promise<BlockCommit | undefined> {
    const row = await reads.find(this.tenantId, this.place, isLocked);
    const fresh = await this.freshWrites(reads);
    if (fresh.length === 0) return undefined;
    const { writes, merged } = await this.prepare(reads, row, fresh);
    this.isMerged = merged !== undefined;
    this.before = row;
    const shares = row ? await reads.shares(this.tenantId, row.id) : [];
    const { documents } = this.deps;
    if (row)
      this.document = merged
        ? documents.merged(merged, row.revision)
        : await documents.take(reads, this.tenantId, row.id, row.revision);
    const nowMs = this.deps.clock.now();
    const draft = new BlockDraft(this.tenantId, this.place, row, shares, () => this.open(), nowMs);
    draft.isTouched = merged !== undefined;
    this.draft = draft;
    const planned = new Map<AnyWrite, PlannedWrite>();
    for (const [index, write] of writes.entries()) {
      const had = draft.row;
      try {
        const answer = write.plan(draft);
        planned.set(write, { answer, row: draft.row });
      } catch (error) {
        this.refused.set(write, error);
        // Whatever it did to the document is undone with all the rest.
        if (draft.isTouched) throw new Refused();
      }
      // A block of this name that comes after is another one, with a document of its own.
      if (had && !draft.row) {
        this.later.push(...writes.slice(index + 1));
        break;
      }
      await this.pause();
    }
    return this.commit(draft, planned);
  }

  /** The writes that are planned now. Those come first that were prepared for the block as it is stored: others would make them late. */
  private async prepare(reads: BlockReads, row: BlockRow | undefined, fresh: readonly AnyWrite[]) {
    for (const write of fresh) {
      const merged = await write.prepare?.(reads, row);
      if (!merged) continue;
      this.later.push(...fresh.filter((other) => other !== write));
      return { writes: [write], merged };
    }
    if (!row) return { writes: fresh, merged: undefined };
    const [first, rest] = [fresh.filter(({ prepare }) => prepare), fresh.filter(({ prepare }) => !prepare)];
    return { writes: [...first, ...rest], merged: undefined };
  }

  private open(): BlockDocument {
    this.document ??= this.deps.documents.create();
    return this.document;
  }

  /** The writes that were not done before. Those that were are answered with what was stored. */
  private async freshWrites(reads: BlockReads): Promise<AnyWrite[]> {
    const stored = await reads.answers(this.batch.map(({ key }) => key));
    const seen = new Set<string>();
    return this.batch.filter((write) => {
      const id = answerId(write.key);
      const known = id !== undefined && stored.get(id);
      if (known) this.replay(write, known);
      else if (id !== undefined && seen.has(id)) this.later.push(write);
      else {
        if (id !== undefined) seen.add(id);
        return true;
      }
      return false;
    });
  }

  private replay(write: AnyWrite, stored: StoredAnswerRow): void {
    try {
      this.answers.set(write, replayAnswer(write.key, stored));
    } catch (error) {
      this.refused.set(write, error);
    }
  }

  private async commit(
    draft: BlockDraft,
    planned: ReadonlyMap<AnyWrite, PlannedWrite>,
  ): Promise<BlockCommit> {
    const { tenantId } = this;
    const before = this.before;
    const rows = [...new Set([...planned.values()].map(({ row }) => row))].filter((row) => row !== undefined);
    const counted = await this.counted(rows.filter((row) => row !== before));
    const withTokens = (row: BlockRow | undefined) => row && (counted.get(row) ?? row);
    const nowUs = toMicroseconds(draft.nowMs);
    const kept: StoredAnswerRow[] = [];
    for (const [write, { answer, row }] of planned) {
      await this.pause();
      const given = answer(withTokens(row));
      this.answers.set(write, given);
      if (write.key.requestId !== "") kept.push(storedAnswerRow(write.key, given, null, nowUs));
    }
    const after = withTokens(draft.row);
    const isFolded =
      after && (!before || Math.floor(after.revision / foldAfter) > Math.floor(before.revision / foldAfter));
    return {
      tenantId,
      before,
      after,
      snapshot: isFolded || (after && this.isMerged) ? this.document!.snapshot() : undefined,
      revisions: after ? draft.revisions : [],
      shares: [...draft.newShares.values()],
      unshared: [...draft.unshared],
      peers: draft.peers,
      answers: kept,
    };
  }

  /** Rows with the tokens of their texts, of which only what changed from one to the next is counted. */
  private async counted(rows: readonly BlockRow[]): Promise<ReadonlyMap<BlockRow, BlockRow>> {
    let text = this.before ? textOf(this.before) : "";
    const parts = rows.map((row) => {
      const was = text;
      text = textOf(row);
      return changedPart(was, text);
    });
    const counts = await this.deps.counter.countAll(parts.flatMap(({ was, is }) => [was, is]));
    let o200kTokens = this.before?.o200kTokens ?? 0;
    return new Map(
      rows.map((row, index) => {
        o200kTokens += counts[2 * index + 1]! - counts[2 * index]!;
        return [row, { ...row, o200kTokens }];
      }),
    );
  }

  /** Whether something was done that watchers would see. */
  get isChanged(): boolean {
    const draft = this.draft;
    return (
      draft !== undefined && (draft.row !== this.before || draft.unshared.size + draft.newShares.size > 0)
    );
  }

  /** The document stays open only as it is stored. */
  end(isStored: boolean): void {
    const { document, tenantId } = this;
    if (!document) return;
    const id = this.draft?.row?.id;
    if (isStored && id !== undefined && !this.draft?.isTouched)
      this.deps.documents.giveBack(tenantId, id, document);
    else this.deps.documents.throwAway(document);
    this.document = undefined;
  }

  answer(): void {
    for (const write of this.batch) {
      if (this.answers.has(write)) write.resolve(this.answers.get(write));
      else if (this.refused.has(write)) write.reject(this.refused.get(write));
    }
  }

  /** Tells those that were refused, and gives the others. */
  settleRefused(): readonly AnyWrite[] {
    for (const [write, error] of this.refused) write.reject(error);
    return this.batch.filter((write) => !this.refused.has(write));
  }
}
