import { LoroDoc, type PeerID } from "loro-crdt";
import type { Quire } from "../../src/index.js";
import { asEntropy, named } from "./memory-quire.js";

type Actor = { readonly kind: typeof asEntropy.kind; readonly name: string };

/** A client that keeps a copy of a block, as an editor would. */
export class LoroClient {
  readonly doc = new LoroDoc();
  private sent = this.doc.version();

  constructor(
    private readonly quire: Pick<Quire, "memory">,
    private readonly label: string,
    private readonly actor: Actor = asEntropy,
  ) {}

  /** Fetches the block, and a peer id to write under. */
  async open(): Promise<this> {
    const block = named(this.label);
    const { update, peerId } = await this.quire.memory.syncBlock({ block, actor: this.actor, newPeer: true });
    this.doc.import(update);
    this.doc.setPeerId(peerId as PeerID);
    this.sent = this.doc.version();
    return this;
  }

  /** What was done here since the last exchange. */
  pending(): Uint8Array {
    this.doc.commit();
    return this.doc.export({ mode: "update", from: this.sent });
  }

  /** Sends what was done here. What others did is taken in, unless that is put off: it costs a copy more the longer its history is. */
  async sync({ isPutOff = false } = {}) {
    const update = this.pending();
    const version = [...this.doc.version().toJSON()].map(([peer, counter]) => ({
      peer: String(peer),
      counter,
    }));
    const request = { block: named(this.label), actor: this.actor, update: Buffer.from(update), version };
    const answer = await this.quire.memory.syncBlock(request);
    if (!isPutOff) this.doc.import(answer.update);
    this.sent = this.doc.version();
    return answer;
  }
}
