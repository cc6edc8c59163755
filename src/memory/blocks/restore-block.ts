import { type BlockActor, type BlockName, type BlockSchema, RevisionKind } from "../../domain/memory.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { MemoryDeps } from "../deps.js";
import { mismatch } from "../document/apply-operation.js";
import type { SectionContent } from "../document/content.js";
import { isSameContent, replaceContent } from "../document/replace-content.js";
import { decodeSchema } from "../memory-codec.js";
import { actorOf, isOwn, isSystem, notAllowed } from "../permissions.js";
import { sectionsOf } from "../schema/sections.js";
import type { BlockDraft } from "./block-draft.js";
import { placeOf } from "./block-place.js";
import type { BlockAnswer } from "./create-block.js";
import { revisionNotFound } from "./revisions.js";
import { requireRevision } from "./update-block.js";
import { viewBlock } from "./views.js";

export interface RestoreBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly revision: number;
  readonly expectedRevision?: number | undefined;
}

/** What a block held at a revision. */
interface Earlier {
  readonly blockId: string;
  readonly schema: BlockSchema;
  readonly contents: readonly SectionContent[];
}

/** Makes a block's content again what it was after a revision. Logs stay: they are only added to. */
export async function restoreBlock(
  deps: MemoryDeps,
  key: WriteKey<BlockAnswer>,
  { block, actor: given, revision: number, expectedRevision }: RestoreBlock,
): Promise<BlockAnswer> {
  const actor = actorOf(given);
  let earlier: Earlier | undefined;
  return deps.writer.write(
    key,
    placeOf(block!),
    (draft) => {
      const before = draft.require(actor);
      requireRevision(before, expectedRevision);
      draft.requireRight(actor, "write");
      if (!earlier || earlier.blockId !== before.id) throw revisionNotFound(before.label, number);
      replaceAll(draft, earlier, (place) => {
        if (!isSystem(actor))
          throw notAllowed(actor, draft.permissionFor(actor), "write", before.label, place);
      });
      draft.revise({ kind: RevisionKind.RESTORE, actor, summary: `restored revision ${number}` });
      const seen = { permission: draft.permissionFor(actor), isShared: !isOwn(actor, draft.owner) };
      return (row) => ({ block: viewBlock(row!, seen) });
    },
    async (reads, row) => {
      if (!row) return;
      const revision = await reads.revision(row.tenantId, row.id, number);
      if (!revision) return;
      const schema = (await reads.schemaAt(row.tenantId, row.id, number)) ?? row.schema;
      const moment = { frontiers: revision.frontiers, schema };
      const contents = await deps.documents.contentThen(reads, row, moment);
      earlier = { blockId: row.id, schema: decodeSchema(schema), contents };
    },
  );
}

/** Section by section. What is read-only may only be what it is already, unless it is allowed to be written. */
function replaceAll(
  draft: BlockDraft,
  { schema: then, contents }: Earlier,
  forbid: (place: { readonly section?: string; readonly field?: string }) => void,
): void {
  const document = draft.touch();
  const earlier = new Map(sectionsOf(then).map((section, index) => [section.name, contents[index]!]));
  const now = document.content(draft.schema);
  sectionsOf(draft.schema).forEach((section, index) => {
    const content = earlier.get(section.name);
    if (!content || content.kind !== section.schema.$case)
      throw mismatch("revision", "the block had another schema then: change the schema back first");
    if (content.kind === "log" || isSameContent(content, now[index]!)) return;
    if (section.readOnly) forbid({ section: section.name });
    const fields = section.schema.$case === "map" ? section.schema.value.fields : [];
    const current = now[index]!;
    for (const { name, readOnly } of fields) {
      if (!readOnly || content.kind !== "map" || current.kind !== "map") continue;
      if (JSON.stringify(content.fields.get(name)) !== JSON.stringify(current.fields.get(name)))
        forbid({ field: name });
    }
    replaceContent(document.doc, section, content);
  });
}
