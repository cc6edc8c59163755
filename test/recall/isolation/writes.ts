import type { Quire } from "../../../src/index.js";
import { setText, textOf } from "../../memory/memory-quire.js";
import { assistant, user } from "../../support/messages.js";
import { type Agent, agents, type Owner, type OwnerKind, type Text, type World } from "./world.js";

const ownerKinds: Readonly<Record<OwnerKind, number>> = {
  OWNER_KIND_AGENT: 6,
  OWNER_KIND_PERSON: 1,
  OWNER_KIND_TEAM: 1,
  OWNER_KIND_PROJECT: 1,
};
const permissions = [
  "BLOCK_PERMISSION_READ_ONLY",
  "BLOCK_PERMISSION_PARTNER",
  "BLOCK_PERMISSION_HUMAN",
  "BLOCK_PERMISSION_APPEND",
  "BLOCK_PERMISSION_READ_WRITE",
  "BLOCK_PERMISSION_ADMIN",
] as const;
export const speakers = ["Ida", "Jon", ""] as const;
export const topics = ["boats", "cars", ""] as const;
/** So many texts there are at most: the older ones make room. */
const maxTexts = 160;

/** One change, in the world and in the engine alike. Time goes on by a minute with each. */
export class Writes {
  nowMs = Date.parse("2024-01-01T00:00:00Z");
  private labels = 0;

  constructor(
    private readonly quire: Quire,
    private readonly world: World,
  ) {}

  async one(): Promise<void> {
    this.nowMs += 60_000;
    const { world } = this;
    const { random, texts } = world;
    const blocks = [...texts.values()].filter(({ content }) => content === "SEARCH_CONTENT_BLOCK");
    const entries = [...texts.values()].filter(({ content }) => content === "SEARCH_CONTENT_ARCHIVAL");
    const isFull = texts.size > maxTexts;
    const kind = random.weighted({
      createBlock: isFull ? 0 : 3,
      insertArchival: isFull ? 0 : 3,
      recordTurn: isFull ? 0 : 4,
      createSession: world.sessions.size > 12 ? 0 : 1,
      forkSession: world.sessions.size > 12 ? 0 : 1,
      updateBlock: blocks.length > 0 ? 2 : 0,
      share: blocks.length > 0 ? 4 : 0,
      unshare: blocks.some(({ sharedWith }) => sharedWith.size > 0) ? 3 : 0,
      deleteBlock: blocks.length > 0 ? (isFull ? 3 : 1) : 0,
      deleteArchival: entries.length > 0 ? (isFull ? 3 : 1) : 0,
      deleteSession: world.sessions.size > 6 ? (isFull ? 3 : 1) : 0,
    });
    if (kind === "createBlock") return this.createBlock();
    if (kind === "insertArchival") return this.insertArchival();
    if (kind === "recordTurn" || kind === "createSession") return this.converse(kind === "createSession");
    if (kind === "forkSession") return this.fork();
    if (kind === "updateBlock") return this.updateBlock(random.pick(blocks));
    if (kind === "share") return this.share(random.pick(blocks));
    if (kind === "unshare") return this.unshare(random.pick(blocks.filter((one) => one.sharedWith.size > 0)));
    if (kind === "deleteBlock") return this.deleteBlock(random.pick(blocks));
    if (kind === "deleteSession") return this.deleteSession();
    const { key } = random.pick(entries);
    await this.quire.memory.deleteArchival({ id: key });
    world.remove(key);
  }

  private owner(): Owner {
    const { random } = this.world;
    const kind = random.weighted(ownerKinds);
    // People, teams and projects have the names of agents, too: a name alone gives nobody anything.
    return { kind, name: random.pick(agents) };
  }

  private async createBlock(): Promise<void> {
    const { random } = this.world;
    const [owner, words, label] = [this.owner(), this.world.words(), `label${this.labels++}`];
    const { block } = await this.quire.memory.createBlock({
      block: { owner, label },
      schema: textOf,
      permission: random.pick(permissions),
      operations: [setText(words)] as never,
    });
    this.add({ key: block!.id, content: "SEARCH_CONTENT_BLOCK", owner, words, label });
  }

  private async updateBlock(text: Text): Promise<void> {
    const words = this.world.words();
    await this.quire.memory.updateBlock({ block: text, operations: [setText(words)] as never });
    this.world.gone.push(text.words);
    Object.assign(text, { words, timeMs: this.nowMs });
  }

  private async deleteBlock(text: Text): Promise<void> {
    await this.quire.memory.deleteBlock({ block: text });
    this.world.remove(text.key);
  }

  private async share(text: Text): Promise<void> {
    const { random } = this.world;
    const others = agents.filter((one) => text.owner.kind !== "OWNER_KIND_AGENT" || one !== text.owner.name);
    const agent = random.pick(others);
    await this.quire.memory.shareBlock({ block: text, agent, permission: random.pick(permissions) });
    text.sharedWith.add(agent);
  }

  private async unshare(text: Text): Promise<void> {
    const agent = this.world.random.pick([...text.sharedWith]);
    await this.quire.memory.unshareBlock({ block: text, agent });
    text.sharedWith.delete(agent);
    this.world.gone.push(text.words);
  }

  private async insertArchival(): Promise<void> {
    const { random } = this.world;
    const [owner, words] = [this.owner(), this.world.words()];
    const [speaker, topic] = [random.pick(speakers), random.pick(topics)];
    const metadata = { ...(speaker ? { speaker } : {}), ...(topic ? { topic } : {}) };
    const { entry } = await this.quire.memory.insertArchival({
      owner,
      content: words,
      metadataJson: JSON.stringify(metadata),
    });
    this.add({ key: entry!.id, content: "SEARCH_CONTENT_ARCHIVAL", owner, words, speaker, topic });
  }

  private async converse(isNew: boolean): Promise<void> {
    const { world, quire } = this;
    const { random, sessions } = world;
    if (isNew || sessions.size === 0) {
      const [label, agent] = [`session ${this.labels++}`, random.pick(agents)];
      await quire.ledger.createSession({ label, defaults: { capsule: agent } });
      sessions.set(label, { label, agent, thread: [] });
    }
    const session = random.pick([...sessions.values()]);
    const topic = random.pick(topics);
    const time = new Date(this.nowMs).toISOString();
    const said = [world.words(), world.words()];
    const { turn } = await quire.ledger.recordTurn({
      session: session.label,
      messages: [user(said[0]!), assistant(said[1]!)],
      details: { metadata: { time, ...(topic ? { topic } : {}) } },
    });
    session.thread.push(turn!.id);
    const owner: Owner = { kind: "OWNER_KIND_AGENT", name: session.agent };
    for (const [at, words] of said.entries()) {
      const key = `${turn!.id}/${at}`;
      this.add({ key, content: "SEARCH_CONTENT_MESSAGE", owner, words, topic, turnId: turn!.id });
    }
  }

  /** Some forks go to another agent: it reads the thread that it was given, and nothing else of who had it before. */
  private async fork(): Promise<void> {
    const { world, quire } = this;
    const { random, sessions } = world;
    const from = [...sessions.values()].filter(({ thread }) => thread.length > 0);
    if (from.length === 0) return;
    const origin = random.pick(from);
    const upTo = 1 + random.below(origin.thread.length);
    const label = `session ${this.labels++}`;
    await quire.ledger.forkSession({ at: { $case: "turnId", value: origin.thread[upTo - 1]! }, label });
    const agent: Agent = random.chance(0.5) ? random.pick(agents) : origin.agent;
    await quire.ledger.updateSession({ session: label, defaults: { capsule: agent } } as never);
    sessions.set(label, { label, agent, thread: origin.thread.slice(0, upTo) });
  }

  private async deleteSession(): Promise<void> {
    const { label } = this.world.random.pick([...this.world.sessions.values()]);
    await this.quire.ledger.deleteSession({ session: label });
    this.world.removeSession(label);
  }

  private add(text: Partial<Text> & Pick<Text, "key" | "content" | "owner" | "words">): void {
    this.world.add({ speaker: "", topic: "", label: "", turnId: "", ...text, timeMs: this.nowMs });
  }
}
