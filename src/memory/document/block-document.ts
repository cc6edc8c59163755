import { LoroDoc, type OpId, type PeerID, VersionVector } from "loro-crdt";
import type { BlockSchema } from "../../domain/memory.js";
import { contentJson, readContent, type SectionContent } from "./content.js";

/** How much of a peer's writing somebody has. */
export interface PeerVersion {
  readonly peer: string;
  readonly counter: number;
}

/** Imports updates that follow each other. The library's `importBatch` would take ten times as long where the history is long. */
export function importTail(doc: LoroDoc, updates: readonly Uint8Array[]): void {
  // What is read of the document is worked out once, at the end, and not after each of them.
  if (updates.length > 1) doc.detach();
  for (const update of updates) doc.import(update);
  if (updates.length > 1) doc.checkoutToLatest();
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
  ) {
    this.known = doc.version();
  }

  /** The peer writes what this server writes: no other process may have it. */
  static open(peer: bigint, snapshot: Uint8Array | undefined, revision: number): BlockDocument {
    const doc = new LoroDoc();
    if (snapshot && snapshot.length > 0) doc.import(snapshot);
    doc.setPeerId(peer);
    return new BlockDocument(doc, revision, snapshot?.length ?? 0);
  }

  /** Brings it to a later revision. */
  catchUp(updates: readonly Uint8Array[], revision: number): void {
    importTail(this.doc, updates);
    this.bytes += updates.reduce((sum, update) => sum + update.length, 0);
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

  /** What it held at an earlier revision. */
  contentAt(frontiers: string, schema: BlockSchema): readonly SectionContent[] {
    const earlier = this.doc.forkAt(JSON.parse(frontiers) as OpId[]);
    try {
      return readContent(earlier, schema);
    } finally {
      earlier.free();
    }
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
