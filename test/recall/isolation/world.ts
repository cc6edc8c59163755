import type { Random } from "../../model/random.js";

/** What is known of everything that was written, without any of the code that searches it. */

export const agents = ["ada", "bob", "cyd", "dee", "eve", "fay"] as const;
export type Agent = (typeof agents)[number];
export type OwnerKind = "OWNER_KIND_AGENT" | "OWNER_KIND_PERSON" | "OWNER_KIND_TEAM" | "OWNER_KIND_PROJECT";
export type Content = "SEARCH_CONTENT_BLOCK" | "SEARCH_CONTENT_ARCHIVAL" | "SEARCH_CONTENT_MESSAGE";

export interface Owner {
  readonly kind: OwnerKind;
  readonly name: string;
}

export interface Text {
  /** The id of a block or an entry; for a message, its turn and its place. */
  readonly key: string;
  readonly content: Content;
  readonly owner: Owner;
  words: string;
  timeMs: number;
  readonly speaker: string;
  readonly topic: string;
  /** The block's label. */
  readonly label: string;
  /** With whom the block is shared. */
  readonly sharedWith: Set<Agent>;
  readonly turnId: string;
}

export interface Session {
  readonly label: string;
  readonly agent: Agent;
  /** The ids of the turns of its thread, those before a fork among them. */
  readonly thread: string[];
}

export interface Asked {
  readonly query: string;
  /** Undefined for everybody who is no agent. */
  readonly agent: Agent | undefined;
  readonly owner: Owner | undefined;
  readonly contents: readonly Content[];
  readonly session: string | undefined;
  readonly afterMs: number | undefined;
  readonly beforeMs: number | undefined;
  readonly speaker: string;
  readonly topic: string;
}

const vocabulary = "anchor tulip copper violin glacier pepper lantern walnut".split(" ");
const letters = "bcdfghjklm";

export class World {
  readonly texts = new Map<string, Text>();
  readonly sessions = new Map<string, Session>();
  /** Turns whose own session was erased, while a fork still has them. */
  readonly orphans = new Set<string>();
  /** The words of what is gone, or was revoked: the newest last. */
  readonly gone: string[] = [];
  private marks = 0;

  constructor(readonly random: Random) {}

  /** Some words that many texts have, and one that no other text has. */
  words(): string {
    const mark = [...(this.marks++).toString().padStart(4, "0")].map((digit) => letters[Number(digit)]!);
    const common = Array.from({ length: 1 + this.random.below(3) }, () => this.random.pick(vocabulary));
    return [...new Set(common), `q${mark.join("")}`].join(" ");
  }

  query(): string {
    const kind = this.random.weighted({ common: 5, mark: 3, gone: 2 });
    if (kind === "gone" && this.gone.length > 0) return markOf(this.random.pickRecent(this.gone, 5));
    if (kind === "mark" && this.texts.size > 0)
      return markOf(this.random.pick([...this.texts.values()]).words);
    return Array.from({ length: 1 + this.random.below(2) }, () => this.random.pick(vocabulary)).join(" ");
  }

  add(text: Omit<Text, "sharedWith">): void {
    this.texts.set(text.key, { ...text, sharedWith: new Set() });
  }

  remove(key: string): void {
    this.gone.push(this.texts.get(key)!.words);
    this.texts.delete(key);
  }

  /** Erases what no other session reaches. */
  removeSession(label: string): void {
    const { thread } = this.sessions.get(label)!;
    this.sessions.delete(label);
    const reached = new Set([...this.sessions.values()].flatMap((session) => session.thread));
    for (const turnId of thread) {
      if (reached.has(turnId)) this.orphans.add(turnId);
      else for (const text of [...this.texts.values()]) if (text.turnId === turnId) this.remove(text.key);
    }
  }

  /** Whether the asker may read it, and asked for such. */
  isAllowed(text: Text, asked: Asked): boolean {
    const { agent, owner, contents, session } = asked;
    if (contents.length > 0 && !contents.includes(text.content)) return false;
    if (session !== undefined) {
      if (!this.sessions.get(session)!.thread.includes(text.turnId)) return false;
    } else {
      const isOwn = text.owner.kind === "OWNER_KIND_AGENT" && text.owner.name === agent;
      if (agent !== undefined && !isOwn && !text.sharedWith.has(agent)) return false;
      if (owner && (owner.kind !== text.owner.kind || owner.name !== text.owner.name)) return false;
    }
    if (asked.afterMs !== undefined && text.timeMs < asked.afterMs) return false;
    if (asked.beforeMs !== undefined && text.timeMs >= asked.beforeMs) return false;
    if (asked.speaker !== "" && text.speaker !== asked.speaker) return false;
    return asked.topic === "" || text.topic === asked.topic;
  }

  allowed(asked: Asked): Text[] {
    return [...this.texts.values()].filter((text) => this.isAllowed(text, asked));
  }

  /** What a search by words must find: an orphan is found by whom it is found by. */
  mustFind(asked: Asked, allowed: readonly Text[]): Text[] {
    const wanted = asked.query.split(" ");
    return allowed.filter(
      ({ words, turnId }) =>
        !this.orphans.has(turnId) && words.split(" ").some((word) => wanted.includes(word)),
    );
  }
}

export function markOf(words: string): string {
  return words.split(" ").at(-1)!;
}
