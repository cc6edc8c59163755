import { hash } from "node:crypto";
import { type OpenItem, OpenItemKind } from "../domain/turn.js";

/** What waits for an answer. */
export interface WaitingItem extends OpenItem {
  /** The call that an approval is for. */
  readonly forCallId?: string | undefined;
}

interface TrackedItem extends WaitingItem {
  /** Whether the parent turn left it open. */
  readonly inherited: boolean;
}

interface OpenStateData {
  readonly open: readonly TrackedItem[];
  readonly seen?: string;
  readonly abandoned?: readonly OpenItem[];
  readonly started?: boolean;
  readonly mayAbandon?: boolean;
  readonly continues?: boolean;
}

const tagLength = 8;

/**
 * What a turn's messages leave open: results close calls, answers close approvals. It grows message by message, and is stored with
 * a turn that is written step by step. Of ids that were seen it keeps 48-bit tags only, so that the state of a long tool
 * loop stays small.
 */
export class OpenState {
  private readonly tags: Set<string>;
  /** In the order in which they were opened. */
  private readonly items = new Map<string, TrackedItem>();
  /** By call, the approvals for it. */
  private readonly approvals = new Map<string, string[]>();

  private constructor(
    items: readonly TrackedItem[],
    seen: string,
    private gone: OpenItem[],
    /** Whether a message other than a system one has been seen. */
    public started: boolean,
    /** Whether items of the parent may stay unanswered for good. */
    readonly mayAbandon: boolean,
    /** Whether the parent awaits answers, so that this turn may begin with them. */
    readonly continues: boolean,
  ) {
    for (const item of items) this.track(item);
    this.tags = new Set();
    for (let at = 0; at < seen.length; at += tagLength) this.tags.add(seen.slice(at, at + tagLength));
  }

  /** The state before the first message of a turn. */
  static under(parentItems: readonly WaitingItem[], mayAbandon: boolean): OpenState {
    const items = parentItems.map((item) => ({ ...item, inherited: true }));
    return new OpenState(items, "", [], false, mayAbandon, items.length > 0);
  }

  static parse(json: string): OpenState {
    const data = JSON.parse(json) as OpenStateData;
    return new OpenState(
      data.open,
      data.seen ?? "",
      [...(data.abandoned ?? [])],
      data.started ?? false,
      data.mayAbandon ?? false,
      data.continues ?? false,
    );
  }

  /** For a turn that goes on. */
  toJson(): string {
    const data: OpenStateData = {
      open: this.waiting,
      seen: [...this.tags].join(""),
      abandoned: this.gone,
      started: this.started,
      mayAbandon: this.mayAbandon,
      continues: this.continues,
    };
    return JSON.stringify(data);
  }

  /** For a finished turn: only what the next one must answer. */
  toFinishedJson(): string {
    return JSON.stringify({ open: this.waiting });
  }

  get open(): readonly OpenItem[] {
    return this.waiting.map(({ kind, id }) => ({ kind, id }));
  }

  /** The same, for the turn after this one. */
  get waiting(): readonly TrackedItem[] {
    return [...this.items.values()];
  }

  get abandoned(): readonly OpenItem[] {
    return this.gone;
  }

  isOpen(kind: OpenItemKind, id: string): boolean {
    return this.items.has(keyOf(kind, id));
  }

  /** Whether this turn had a call or approval of this id, or the parent left it open. */
  wasSeen(kind: OpenItemKind, id: string): boolean {
    return this.isOpen(kind, id) || this.tags.has(tagOf(kind, id));
  }

  openItem(kind: OpenItemKind, id: string, forCallId?: string): void {
    this.track({ kind, id, inherited: false, ...(forCallId ? { forCallId } : {}) });
    this.tags.add(tagOf(kind, id));
  }

  private track(item: TrackedItem): void {
    const key = keyOf(item.kind, item.id);
    this.items.set(key, item);
    if (item.forCallId)
      this.approvals.set(item.forCallId, [...(this.approvals.get(item.forCallId) ?? []), key]);
  }

  /** Closes an item; a call that is answered no longer needs its approval. */
  close(kind: OpenItemKind, id: string): void {
    const closed = this.items.get(keyOf(kind, id));
    this.items.delete(keyOf(kind, id));
    // What this turn opened has its tag.
    if (closed?.inherited !== false) this.tags.add(tagOf(kind, id));
    if (kind !== OpenItemKind.TOOL_CALL) return;
    for (const approval of this.approvals.get(id) ?? []) this.items.delete(approval);
  }

  /** Leaves the parent's items unanswered for good. */
  abandonInherited(): void {
    const inherited = this.waiting.filter((item) => item.inherited);
    this.gone = [...this.gone, ...inherited.map(({ kind, id }) => ({ kind, id }))];
    for (const { kind, id } of inherited) this.items.delete(keyOf(kind, id));
  }

  get hasInherited(): boolean {
    return this.waiting.some((item) => item.inherited);
  }
}

function keyOf(kind: OpenItemKind, id: string): string {
  return `${kind}/${id}`;
}

/** The last one is asked for twice: whether it was seen, and then to be so. */
let lastTag = { key: "", tag: "" };

function tagOf(kind: OpenItemKind, id: string): string {
  const key = keyOf(kind, id);
  if (lastTag.key !== key) {
    const tag = hash("sha256", key, "base64url").slice(0, tagLength);
    lastTag = { key, tag };
  }
  return lastTag.tag;
}
