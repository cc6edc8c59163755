import { toMicroseconds } from "../../domain/clock.js";
import { sha256 } from "../../domain/hash.js";
import type {
  BlockOwner,
  BlockPermission,
  BlockSchema,
  OwnerKind,
  RevisionKind,
} from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { BlockPlace } from "../../storage/memory/block-reads.js";
import {
  type BlockRow,
  bytesColumn,
  type PeerRow,
  type RevisionRow,
  type ShareRow,
} from "../../storage/memory/rows.js";
import type { BlockDocument, PeerVersion } from "../document/block-document.js";
import { textRoot } from "../document/roots.js";
import { decodeSchema, encodeSchema } from "../memory-codec.js";
import { type Actor, isOwn, isSystem, type Right, requireRight, weaker } from "../permissions.js";
import { countedChars, renderContent } from "../rendering/render-content.js";
import { blockNotFound } from "./block-not-found.js";

/** How large a document may become, with all its history. */
const maxDocumentBytes = 8 * 1024 * 1024;

export interface Revision {
  readonly kind: RevisionKind;
  readonly actor: Actor;
  readonly summary: string;
  /** Where it changes. */
  readonly schema?: BlockSchema;
  /** Whether it is a revision even if the document stays as it is. */
  readonly isAlways?: boolean;
}

/** One block while writes to it are planned: as it is stored, and what these writes make of it. */
export class BlockDraft {
  readonly revisions: RevisionRow[] = [];
  readonly newShares = new Map<string, ShareRow>();
  readonly unshared = new Set<string>();
  readonly peers: PeerRow[] = [];
  /** Whether the document may hold what is in no revision. */
  isTouched = false;
  private shown: { readonly schema: BlockSchema; readonly of: Uint8Array } | undefined;

  constructor(
    readonly tenantId: string,
    readonly place: BlockPlace,
    public row: BlockRow | undefined,
    private readonly shares: readonly ShareRow[],
    private readonly open: () => BlockDocument,
    readonly nowMs: number,
  ) {}

  get owner(): BlockOwner {
    return { kind: this.place.ownerKind as OwnerKind, name: this.place.ownerName };
  }

  /** The block, if the actor may see it. */
  require(actor: Actor): BlockRow {
    const { row } = this;
    if (!row || (!isOwn(actor, this.owner) && !this.shareOf(actor.name))) throw blockNotFound(this.place);
    return row;
  }

  shareOf(agent: string): ShareRow | undefined {
    if (this.unshared.has(agent)) return undefined;
    return this.newShares.get(agent) ?? this.shares.find((share) => share.agent === agent);
  }

  get shareCount(): number {
    const agents = new Set([...this.shares.map(({ agent }) => agent), ...this.newShares.keys()]);
    for (const agent of this.unshared) agents.delete(agent);
    return agents.size;
  }

  /** What the block's permission is for an actor. */
  permissionFor(actor: Actor): BlockPermission {
    const own = this.row!.permission as BlockPermission;
    const share = isOwn(actor, this.owner) ? undefined : this.shareOf(actor.name);
    return share ? weaker(own, share.permission as BlockPermission) : own;
  }

  requireRight(actor: Actor, needs: Right): void {
    requireRight(actor, this.permissionFor(actor), needs, this.place.label);
  }

  get schema(): BlockSchema {
    const bytes = this.row!.schema;
    if (this.shown?.of !== bytes) this.shown = { schema: decodeSchema(bytes), of: bytes };
    return this.shown.schema;
  }

  /** What the text of a section says; empty where it is no text. */
  textOf(section: string): string {
    return this.open()
      .doc.getText(textRoot({ name: section }))
      .toString();
  }

  /** What somebody lacks who has this version of the document, and the version that it is at. */
  stateSince(version: readonly PeerVersion[]): { readonly update: Buffer; readonly version: PeerVersion[] } {
    return this.open().stateSince(version);
  }

  /** The document, to be changed. */
  touch(): BlockDocument {
    this.isTouched = true;
    return this.open();
  }

  /**
   * Makes what was done a revision of its own, unless nothing was. Throws where the block would be larger than it may be. Its tokens
   * are counted later, for all revisions at once.
   */
  revise(revision: Revision): void {
    const before = this.row!;
    const schema = revision.schema ?? this.schema;
    const document = this.open();
    const update = document.takeUpdate();
    if (update.length === 0 && !revision.isAlways) {
      this.isTouched = false;
      return;
    }
    const contents = document.content(schema);
    const text = renderContent(schema, contents);
    const chars = countedChars(text, contents);
    this.checkSize(chars, document.bytes, revision.actor);
    const bytes = Buffer.from(text);
    const nowUs = toMicroseconds(this.nowMs);
    const hash = bytesColumn(sha256(bytes));
    const schemaBytes = revision.schema ? bytesColumn(encodeSchema(revision.schema)) : null;
    const { actor, kind, summary } = revision;
    document.revision = before.revision + 1;
    this.revisions.push({
      tenantId: this.tenantId,
      blockId: before.id,
      revision: before.revision + 1,
      kind,
      actorKind: actor.kind,
      actorName: actor.name,
      summary,
      update: bytesColumn(update),
      frontiers: document.frontiers,
      schema: schemaBytes,
      hash,
      createdUs: nowUs,
    });
    this.row = {
      ...before,
      revision: before.revision + 1,
      schema: schemaBytes ?? before.schema,
      text: bytesColumn(bytes),
      hash,
      chars,
      updatedUs: nowUs,
    };
    this.isTouched = false;
  }

  /** A block that has too much already may become shorter. */
  private checkSize(chars: number, bytes: number, actor: Actor): void {
    const { label, charLimit } = this.row!;
    const isGrowing = chars > this.row!.chars || this.row!.revision === 0;
    const refuse = (limit: string, max: number, given: number) => {
      const message = `the block ${JSON.stringify(label)} would have ${given} ${limit} of at most ${max}`;
      return new QuireError("BLOCK_LIMIT_EXCEEDED", message, {
        metadata: { label, limit, max: String(max), given: String(given) },
      });
    };
    if (chars > charLimit && isGrowing) throw refuse("chars", charLimit, chars);
    if (bytes > maxDocumentBytes && !isSystem(actor)) throw refuse("bytes", maxDocumentBytes, bytes);
  }
}
