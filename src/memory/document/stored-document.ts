import { LoroDoc, type OpId } from "loro-crdt";
import { decodeSchema } from "../memory-codec.js";
import { readContent, type SectionContent } from "./content.js";

/** How a block's document is stored: as a snapshot, and the updates since. */
export interface StoredDocument {
  readonly snapshot: Uint8Array;
  readonly tail: readonly Uint8Array[];
}

export function openStored({ snapshot, tail }: StoredDocument): LoroDoc {
  const doc = new LoroDoc();
  if (snapshot.length > 0) doc.import(snapshot);
  importTail(doc, tail);
  return doc;
}

/** Imports updates that follow each other. The library's `importBatch` would take ten times as long where the history is long. */
export function importTail(doc: LoroDoc, updates: readonly Uint8Array[]): void {
  // What is read of the document is worked out once, at the end, and not after each of them.
  if (updates.length > 1) doc.detach();
  for (const update of updates) doc.import(update);
  if (updates.length > 1) doc.checkoutToLatest();
}

export function sizeOf(updates: readonly Uint8Array[]): number {
  return updates.reduce((sum, { length }) => sum + length, 0);
}

/** The whole document as a snapshot, which is opened at once. For a worker thread. */
export function foldedDocument(stored: StoredDocument): Uint8Array {
  const doc = openStored(stored);
  try {
    return doc.export({ mode: "snapshot" });
  } finally {
    doc.free();
  }
}

/** Where a document stood at a revision, and the block's schema then, in wire form. */
export interface Moment {
  readonly frontiers: string;
  readonly schema: Uint8Array;
}

/** What a document held once. For a worker thread: the library goes through all that was done since. */
export function contentThen({
  stored,
  moment,
}: {
  readonly stored: StoredDocument;
  readonly moment: Moment;
}): readonly SectionContent[] {
  const doc = openStored(stored);
  try {
    doc.checkout(JSON.parse(moment.frontiers) as OpId[]);
    return readContent(doc, decodeSchema(moment.schema));
  } finally {
    doc.free();
  }
}
