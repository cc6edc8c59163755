import { type Message, MessageRole, type PartContent } from "../domain/message.js";
import { type OpenItem, OpenItemKind } from "../domain/turn.js";

/** What waits for an answer. */
export interface WaitingItem extends OpenItem {
  /** The call that an approval is for. */
  readonly forCallId?: string | undefined;
}

export interface TrackedItem extends WaitingItem {
  /** Whether the parent turn left it open. */
  readonly inherited: boolean;
}

/** What a part opens, or answers. */
export interface ItemEffect extends WaitingItem {
  readonly does: "opens" | "answers";
}

export function itemOf(content: PartContent | undefined): ItemEffect | undefined {
  switch (content?.$case) {
    case "toolCall":
      return { does: "opens", kind: OpenItemKind.TOOL_CALL, id: content.value.callId };
    case "approvalRequest": {
      const { approvalId: id, callId } = content.value;
      return { does: "opens", kind: OpenItemKind.APPROVAL, id, forCallId: callId || undefined };
    }
    case "toolResult":
      return { does: "answers", kind: OpenItemKind.TOOL_CALL, id: content.value.callId };
    case "approvalAnswer":
      return { does: "answers", kind: OpenItemKind.APPROVAL, id: content.value.approvalId };
    default:
      return undefined;
  }
}

/** Whether a message may stand between a call and its result: only answers may. */
export function answersOnly({ role, parts }: Pick<Message, "role" | "parts">): boolean {
  if (role === MessageRole.TOOL) return true;
  return role === MessageRole.USER && parts.every(({ content }) => content?.$case === "approvalAnswer");
}

export function itemKey(kind: OpenItemKind, id: string): string {
  return `${kind}/${id}`;
}

/** The calls among items, by their ids. */
export function openCallIds(items: readonly OpenItem[]): string[] {
  return items.filter(({ kind }) => kind === OpenItemKind.TOOL_CALL).map(({ id }) => id);
}

/** What a message did to what is open, as keys. */
export interface ItemChanges {
  readonly opened: readonly string[];
  readonly closed: readonly string[];
  /** What nobody will answer any more. */
  readonly givenUp: readonly string[];
}

const noChanges: ItemChanges = { opened: [], closed: [], givenUp: [] };

/** The calls and approvals that are open: results close calls, answers close approvals, and a call that is answered no longer needs its approval. */
export class OpenItems {
  /** In the order in which they were opened. */
  private readonly items = new Map<string, TrackedItem>();
  /** By call, the approvals for it. */
  private readonly approvals = new Map<string, string[]>();

  constructor(items: readonly TrackedItem[] = []) {
    for (const item of items) this.open(item);
  }

  get all(): readonly TrackedItem[] {
    return [...this.items.values()];
  }

  get size(): number {
    return this.items.size;
  }

  find(kind: OpenItemKind, id: string): TrackedItem | undefined {
    return this.items.get(itemKey(kind, id));
  }

  open(item: TrackedItem): void {
    const key = itemKey(item.kind, item.id);
    this.items.set(key, item);
    if (item.forCallId)
      this.approvals.set(item.forCallId, [...(this.approvals.get(item.forCallId) ?? []), key]);
  }

  /** Closes an item, and gives the keys of all that is closed with it. */
  close(kind: OpenItemKind, id: string): readonly string[] {
    const key = itemKey(kind, id);
    this.items.delete(key);
    if (kind !== OpenItemKind.TOOL_CALL) return [key];
    const closed = (this.approvals.get(id) ?? []).filter((approval) => this.items.delete(approval));
    this.approvals.delete(id);
    return [key, ...closed];
  }

  /** Gives up what the parent left open; the ids of it. */
  giveUpInherited(): readonly OpenItem[] {
    const inherited = this.all.filter((item) => item.inherited);
    for (const { kind, id } of inherited) this.items.delete(itemKey(kind, id));
    return inherited.map(({ kind, id }) => ({ kind, id }));
  }

  /** Lays a message of the ledger on what is open. The ledger took it, so what is open before anything but an answer was given up. */
  follow(message: Pick<Message, "role" | "parts">): ItemChanges {
    if (message.role === MessageRole.SYSTEM) return noChanges;
    const opened: string[] = [];
    const closed: string[] = [];
    const givenUp = answersOnly(message) ? [] : [...this.items.keys()];
    for (const key of givenUp) this.items.delete(key);
    for (const { content } of message.parts) {
      const effect = itemOf(content);
      if (effect?.does === "answers") closed.push(...this.close(effect.kind, effect.id));
      if (effect?.does !== "opens") continue;
      const { kind, id, forCallId } = effect;
      this.open({ kind, id, forCallId, inherited: false });
      opened.push(itemKey(kind, id));
    }
    return { opened, closed, givenUp };
  }
}
