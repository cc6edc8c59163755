import type { LoroDoc } from "loro-crdt";
import { toMicroseconds } from "../../domain/clock.js";
import {
  type Block,
  type BlockActor,
  type BlockName,
  type BlockOperation,
  BlockPermission,
  type BlockSchema,
  BlockType,
  RevisionKind,
} from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import { bytesColumn } from "../../storage/memory/rows.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { MemoryDeps } from "../deps.js";
import { applyOperation, mismatch, writeField } from "../document/apply-operation.js";
import { encodeSchema } from "../memory-codec.js";
import { type Actor, actorName, actorOf, isOwn, notAllowed } from "../permissions.js";
import { fieldProblem, readValue } from "../schema/check-value.js";
import { sectionsOf, textSchema } from "../schema/sections.js";
import type { BlockDraft } from "./block-draft.js";
import { placeOf } from "./block-place.js";
import { viewBlock } from "./views.js";

/** As Letta's users expect. */
const defaultCharLimit = 20_000;

export interface CreateBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly type: BlockType;
  readonly pinned: boolean;
  readonly description: string;
  readonly permission: BlockPermission;
  readonly charLimit: number;
  readonly schema: BlockSchema | undefined;
  readonly operations: readonly BlockOperation[];
}

export interface BlockAnswer {
  readonly block: Block | undefined;
}

/** Makes a block, with its first content. */
export async function createBlock(
  deps: MemoryDeps,
  key: WriteKey<BlockAnswer>,
  command: CreateBlock,
): Promise<BlockAnswer> {
  const actor = actorOf(command.actor);
  const place = placeOf(command.block!);
  const schema = command.schema ?? textSchema;
  checkDefaults(schema);
  const id = deps.ids.next();
  return deps.writer.write(key, place, (draft) => {
    const permission =
      command.permission === BlockPermission.UNSPECIFIED ? BlockPermission.READ_WRITE : command.permission;
    if (!isOwn(actor, draft.owner)) throw othersBlock(actor, permission, place.label);
    if (draft.row) {
      const { ownerName: owner, label } = place;
      const message = `${JSON.stringify(owner)} has a block ${JSON.stringify(label)} already`;
      throw new QuireError("BLOCK_EXISTS", message, { metadata: { owner, label } });
    }
    const nowUs = toMicroseconds(draft.nowMs);
    draft.row = {
      tenantId: key.tenantId,
      id,
      ...place,
      type: command.type === BlockType.UNSPECIFIED ? BlockType.WORKING : command.type,
      pinned: command.pinned,
      description: command.description,
      permission,
      charLimit: command.charLimit || defaultCharLimit,
      schema: bytesColumn(encodeSchema(schema)),
      revision: 0,
      text: bytesColumn(Buffer.alloc(0)),
      hash: bytesColumn(Buffer.alloc(0)),
      chars: 0,
      o200kTokens: 0,
      createdUs: nowUs,
      updatedUs: nowUs,
    };
    fill(draft, schema, command.operations, actor.name || actorName(actor));
    draft.revise({ kind: RevisionKind.CREATE, actor, summary: "created", schema, isAlways: true });
    return (row) => ({ block: viewBlock(row!, { permission, isShared: false }) });
  });
}

/** The first content of a new block: its defaults, then what was asked for. */
function fill(
  draft: BlockDraft,
  schema: BlockSchema,
  operations: readonly BlockOperation[],
  author: string,
): void {
  const { doc } = draft.touch();
  writeDefaults(doc, schema, () => true);
  operations.forEach((operation, index) => {
    const path = `operations[${index}]`;
    applyOperation(
      { doc, schema, label: draft.place.label, path, allow: () => undefined, nowMs: draft.nowMs, author },
      operation,
    );
  });
}

/** Gives fields their defaults. */
export function writeDefaults(
  doc: LoroDoc,
  schema: BlockSchema,
  isWanted: (section: string, field: string) => boolean,
): void {
  for (const section of sectionsOf(schema)) {
    if (section.schema.$case !== "map") continue;
    for (const field of section.schema.value.fields) {
      if (field.defaultJson === "" || !isWanted(section.name, field.name)) continue;
      const read = readValue(field.defaultJson);
      if ("value" in read) writeField(doc, section, field, read.value);
    }
  }
}

/** Throws for a default that its field could not have. */
export function checkDefaults(schema: BlockSchema): void {
  for (const section of sectionsOf(schema)) {
    if (section.schema.$case !== "map") continue;
    for (const field of section.schema.value.fields) {
      if (field.defaultJson === "") continue;
      const read = readValue(field.defaultJson);
      const problem = "problem" in read ? read.problem : fieldProblem(field, read.value);
      if (problem !== undefined)
        throw mismatch("schema", `the default of the field ${JSON.stringify(field.name)} ${problem}`);
    }
  }
}

function othersBlock(actor: Actor, permission: BlockPermission, label: string): QuireError {
  const { reason, metadata } = notAllowed(actor, permission, "admin", label);
  return new QuireError(reason, "an agent makes blocks of its own only", { metadata });
}
