import type { LoroDoc } from "loro-crdt";
import { importTail, openStored, type StoredDocument, sizeOf } from "../document/stored-document.js";

/** A block's document as it is stored at a revision. */
export interface StoredBlock extends StoredDocument {
  readonly block: string;
  readonly revision: number;
}

/** What came to a document since a revision at which it was open here. */
export interface DocumentState extends Omit<StoredBlock, "snapshot"> {
  /** Where the document stands at its revision, as JSON. */
  readonly frontiers: string;
  readonly openedAt: number;
}

/** A document that is open in this thread, to look at updates of it. */
export interface DocumentCopy {
  readonly block: string;
  readonly doc: LoroDoc;
  revision: number;
  bytes: number;
  /** Who wrote what was found to be fine, and is in no revision yet. */
  readonly aheadPeers: Set<string>;
}

const mostCopies = 16;
const mostBytes = 16 * 1024 * 1024;

/** Those of this thread, the one that was used last at the end. */
const copies = new Map<string, DocumentCopy>();

/** Opens a document as it is stored: bytes of the server's own, which may take their time. */
export function openDocument(stored: StoredBlock): void {
  const { block, revision, snapshot, tail } = stored;
  const known = copies.get(block);
  copies.delete(block);
  if (known) freeCopy(known);
  const doc = openStored(stored);
  keepCopy({ block, doc, revision, bytes: snapshot.length + sizeOf(tail), aheadPeers: new Set() });
}

/**
 * The document as it is stored; undefined where it is not open here. What was fine and has not been stored may be in it only if these
 * peers did not write it: their operations must be looked at as if they were new.
 */
export function takeCopy(state: DocumentState, peers: readonly string[]): DocumentCopy | undefined {
  const { block, revision, tail, openedAt } = state;
  const known = copies.get(block);
  copies.delete(block);
  if (!known) return undefined;
  importTail(known.doc, tail);
  known.bytes += sizeOf(tail);
  if (isAt(known.doc, state.frontiers)) known.aheadPeers.clear();
  const isUsable =
    known.revision === openedAt &&
    (known.aheadPeers.size === 0 ||
      (revision === known.revision && !peers.some((peer) => known.aheadPeers.has(peer))));
  known.revision = revision;
  if (isUsable) return known;
  freeCopy(known);
  return undefined;
}

export function keepCopy(copy: DocumentCopy): void {
  copies.set(copy.block, copy);
  let bytes = [...copies.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [block, oldest] of copies) {
    if (oldest === copy || (copies.size <= mostCopies && bytes <= mostBytes)) break;
    copies.delete(block);
    bytes -= oldest.bytes;
    freeCopy(oldest);
  }
}

export function freeCopy({ doc }: DocumentCopy): void {
  try {
    doc.free();
  } catch {
    // After a panic nothing of the library works any more.
  }
}

function isAt(doc: LoroDoc, frontiers: string): boolean {
  const sorted = (ids: readonly { readonly peer: string; readonly counter: number }[]) =>
    JSON.stringify(ids.map(({ peer, counter }) => `${peer}@${counter}`).sort());
  return sorted(doc.frontiers()) === sorted(JSON.parse(frontiers) as ReturnType<LoroDoc["frontiers"]>);
}
