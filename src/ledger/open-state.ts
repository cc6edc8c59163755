import { sha256 } from "../domain/hash.js";
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

  private constructor(
    private items: TrackedItem[],
    seen: string,
    private gone: OpenItem[],
    /** Whether a message other than a system one has been seen. */
    public started: boolean,
    /** Whether items of the parent may stay unanswered for good. */
    readonly mayAbandon: boolean,
    /** Whether the parent awaits answers, so that this turn may begin with them. */
    readonly continues: boolean,
  ) {
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
      [...data.open],
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
      open: this.items,
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
    return JSON.stringify({ open: this.items });
  }

  get open(): readonly OpenItem[] {
    return this.items.map(({ kind, id }) => ({ kind, id }));
  }

  /** The same, for the turn after this one. */
  get waiting(): readonly WaitingItem[] {
    return this.items;
  }

  get abandoned(): readonly OpenItem[] {
    return this.gone;
  }

  isOpen(kind: OpenItemKind, id: string): boolean {
    return this.items.some((item) => item.kind === kind && item.id === id);
  }

  /** Whether this turn had a call or approval of this id, or the parent left it open. */
  wasSeen(kind: OpenItemKind, id: string): boolean {
    return this.isOpen(kind, id) || this.tags.has(tagOf(kind, id));
  }

  openItem(kind: OpenItemKind, id: string, forCallId?: string): void {
    this.items.push({ kind, id, inherited: false, ...(forCallId ? { forCallId } : {}) });
    this.tags.add(tagOf(kind, id));
  }

  /** Closes an item; a call that is answered no longer needs its approval. */
  close(kind: OpenItemKind, id: string): void {
    this.items = this.items.filter(
      (item) =>
        !(item.kind === kind && item.id === id) &&
        !(kind === OpenItemKind.TOOL_CALL && item.forCallId === id),
    );
    this.tags.add(tagOf(kind, id));
  }

  /** Leaves the parent's items unanswered for good. */
  abandonInherited(): void {
    this.gone = [
      ...this.gone,
      ...this.items.filter((item) => item.inherited).map(({ kind, id }) => ({ kind, id })),
    ];
    this.items = this.items.filter((item) => !item.inherited);
  }

  get hasInherited(): boolean {
    return this.items.some((item) => item.inherited);
  }
}

function tagOf(kind: OpenItemKind, id: string): string {
  return sha256(Buffer.from(`${kind}/${id}`))
    .toString("base64url")
    .slice(0, tagLength);
}
