import { LoroDoc, type PeerID, VersionVector } from "loro-crdt";
import type { BlockSchema } from "../../domain/memory.js";
import { contentJson, readContent, type SectionContent } from "./content.js";
import { importTail, sizeOf } from "./stored-document.js";

/** How much of a peer's writing somebody has. */
export interface PeerVersion {
  readonly peer: string;
  readonly counter: number;
}

/** A document as an update makes it that was merged in another thread. */
export interface MergedDocument {
  readonly snapshot: Uint8Array;
  /** The version that it was at before, encoded. */
  readonly known: Uint8Array;
}

/** A block's document, open. */
export class BlockDocument {
  /** What is committed of it up to here is in the revisions. */
  private known: VersionVector;
  isFreed = false;

  private constructor(
    readonly doc: LoroDoc,
    /** The block's revision that it stands at. */
    public revision: number,
    /** Of its snapshot and of the updates since, about. */
    public bytes: number,
    known = doc.version(),
  ) {
    this.known = known;
  }

  /** The peer writes what this server writes: no other process may have it. */
  static open(peer: bigint, snapshot: Uint8Array | undefined, revision: number): BlockDocument {
    const doc = new LoroDoc();
    if (snapshot && snapshot.length > 0) doc.import(snapshot);
    doc.setPeerId(peer);
    return new BlockDocument(doc, revision, snapshot?.length ?? 0);
  }

  /** One that holds more than its revision: an update that was merged elsewhere. */
  static openMerged(peer: bigint, { snapshot, known }: MergedDocument, revision: number): BlockDocument {
    const doc = new LoroDoc();
    doc.import(snapshot);
    doc.setPeerId(peer);
    return new BlockDocument(doc, revision, snapshot.length, VersionVector.decode(known));
  }

  /** Brings it to a later revision. */
  catchUp(updates: readonly Uint8Array[], revision: number): void {
    importTail(this.doc, updates);
    this.bytes += sizeOf(updates);
    this.revision = revision;
    this.remember();
  }

  /** What was done since the last revision, as an update; empty where nothing was. */
  takeUpdate(): Buffer {
    this.doc.commit();
    const now = this.doc.version();
    const isSame = now.compare(this.known) === 0;
    now.free();
    if (isSame) return Buffer.alloc(0);
    const update = Buffer.from(this.doc.export({ mode: "update", from: this.known }));
    this.bytes += update.length;
    this.remember();
    return update;
  }

  get frontiers(): string {
    return JSON.stringify(this.doc.frontiers());
  }

  snapshot(): Buffer {
    return Buffer.from(this.doc.export({ mode: "snapshot" }));
  }

  content(schema: BlockSchema): readonly SectionContent[] {
    return readContent(this.doc, schema);
  }

  contentJson(schema: BlockSchema): string {
    return contentJson(schema, this.content(schema));
  }

  /** What somebody lacks who has this version, and the version that it is at. */
  stateSince(known: readonly PeerVersion[]): { readonly update: Buffer; readonly version: PeerVersion[] } {
    const from = new VersionVector(new Map(known.map(({ peer, counter }) => [peer as PeerID, counter])));
    const now = this.doc.version();
    try {
      const version = [...now.toJSON()].map(([peer, counter]) => ({ peer: String(peer), counter }));
      version.sort((a, b) => (a.peer < b.peer ? -1 : 1));
      return { update: Buffer.from(this.doc.export({ mode: "update", from })), version };
    } finally {
      from.free();
      now.free();
    }
  }

  free(): void {
    if (this.isFreed) return;
    this.isFreed = true;
    this.known.free();
    this.doc.free();
  }

  private remember(): void {
    this.known.free();
    this.known = this.doc.version();
  }
}
