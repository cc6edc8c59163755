import { hash } from "node:crypto";
import type { OpenItem, OpenItemKind } from "../domain/turn.js";
import { itemKey, OpenItems, type TrackedItem, type WaitingItem } from "./open-items.js";

interface OpenStateData {
  readonly open: readonly TrackedItem[];
  readonly seen?: string;
  readonly abandoned?: readonly OpenItem[];
  readonly started?: boolean;
  readonly mayAbandon?: boolean;
  readonly continues?: boolean;
  readonly answered?: boolean;
}

const tagLength = 8;
/** What most turns leave open. */
const nothingOpen = JSON.stringify({ open: [] });

/**
 * What a turn's messages leave open. It grows message by message, and is stored with a turn that is written step by step. Of ids
 * that were seen it keeps 48-bit tags only, so that the state of a long tool loop stays small.
 */
export class OpenState {
  private readonly tags: Set<string>;
  private readonly openItems: OpenItems;
  private gone: readonly OpenItem[];

  private constructor(
    items: readonly TrackedItem[],
    seen: string,
    abandoned: readonly OpenItem[],
    /** Whether a message other than a system one has been seen. */
    public started: boolean,
    /** Whether items of the parent may stay unanswered for good. */
    readonly mayAbandon: boolean,
    /** Whether the parent awaits answers, so that this turn may begin with them. */
    readonly continues: boolean,
    /** Whether the last message is the model's. */
    public answered = false,
  ) {
    this.openItems = new OpenItems(items);
    this.gone = abandoned;
    this.tags = new Set();
    for (let at = 0; at < seen.length; at += tagLength) this.tags.add(seen.slice(at, at + tagLength));
  }

  /** The state before the first message of a turn. */
  static under(parentItems: readonly WaitingItem[], mayAbandon: boolean): OpenState {
    const items = parentItems.map((item) => ({ ...item, inherited: true }));
    return new OpenState(items, "", [], false, mayAbandon, items.length > 0);
  }

  static parse(json: string): OpenState {
    if (json === nothingOpen) return new OpenState([], "", [], false, false, false);
    const data = JSON.parse(json) as OpenStateData;
    return new OpenState(
      data.open,
      data.seen ?? "",
      data.abandoned ?? [],
      data.started ?? false,
      data.mayAbandon ?? false,
      data.continues ?? false,
      data.answered ?? false,
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
      ...(this.answered ? { answered: true } : {}),
    };
    return JSON.stringify(data);
  }

  /** For a finished turn: only what the next one must answer. */
  toFinishedJson(): string {
    return this.openItems.size === 0 ? nothingOpen : JSON.stringify({ open: this.waiting });
  }

  get open(): readonly OpenItem[] {
    return this.waiting.map(({ kind, id }) => ({ kind, id }));
  }

  /** The same, for the turn after this one. */
  get waiting(): readonly TrackedItem[] {
    return this.openItems.all;
  }

  get abandoned(): readonly OpenItem[] {
    return this.gone;
  }

  isOpen(kind: OpenItemKind, id: string): boolean {
    return this.openItems.find(kind, id) !== undefined;
  }

  /** Whether this turn had a call or approval of this id, or the parent left it open. */
  wasSeen(kind: OpenItemKind, id: string): boolean {
    return this.isOpen(kind, id) || this.tags.has(tagOf(kind, id));
  }

  openItem(kind: OpenItemKind, id: string, forCallId?: string): void {
    this.openItems.open({ kind, id, inherited: false, ...(forCallId ? { forCallId } : {}) });
    this.tags.add(tagOf(kind, id));
  }

  close(kind: OpenItemKind, id: string): void {
    // What this turn opened has its tag.
    if (this.openItems.find(kind, id)?.inherited !== false) this.tags.add(tagOf(kind, id));
    this.openItems.close(kind, id);
  }

  /** Leaves the parent's items unanswered for good. */
  abandonInherited(): void {
    this.gone = [...this.gone, ...this.openItems.giveUpInherited()];
  }

  get hasInherited(): boolean {
    return this.waiting.some((item) => item.inherited);
  }
}

/** The last one is asked for twice: whether it was seen, and then to be so. */
let lastTag = { key: "", tag: "" };

function tagOf(kind: OpenItemKind, id: string): string {
  const key = itemKey(kind, id);
  if (lastTag.key !== key) {
    const tag = hash("sha256", key, "base64url").slice(0, tagLength);
    lastTag = { key, tag };
  }
  return lastTag.tag;
}
