import {
  type Block,
  type BlockActor,
  type BlockName,
  type BlockOperation,
  type OperationResult,
  RevisionKind,
} from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import { type BlockRow, textOf } from "../../storage/memory/rows.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { MemoryDeps } from "../deps.js";
import { applyOperation, operationWords } from "../document/apply-operation.js";
import { type Actor, actorName, actorOf, isOwn, isSystem, notAllowed } from "../permissions.js";
import type { BlockDraft } from "./block-draft.js";
import { placeOf } from "./block-place.js";
import { viewBlock } from "./views.js";

export interface UpdateBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly operations: readonly BlockOperation[];
  readonly expectedRevision?: number | undefined;
}

export interface UpdatedBlock {
  readonly block: Block | undefined;
  readonly results: readonly OperationResult[];
}

/** Does all operations in order, or none. */
export async function updateBlock(
  deps: MemoryDeps,
  key: WriteKey<UpdatedBlock>,
  { block, actor: given, operations, expectedRevision }: UpdateBlock,
): Promise<UpdatedBlock> {
  const actor = actorOf(given);
  return deps.writer.write(key, placeOf(block!), (draft) => {
    const before = draft.require(actor);
    requireRevision(before, expectedRevision);
    const results = applyAll(draft, actor, operations);
    const seen = { permission: draft.permissionFor(actor), isShared: !isOwn(actor, draft.owner) };
    return (row) => ({ block: viewBlock(row!, seen), results });
  });
}

/** Does operations on a block that the actor may see, and makes them one revision. */
export function applyAll(
  draft: BlockDraft,
  actor: Actor,
  operations: readonly BlockOperation[],
): readonly OperationResult[] {
  const { schema, nowMs } = draft;
  const permission = draft.permissionFor(actor);
  const allow = (
    needs: "append" | "write" | "admin" | "none",
    place: { field?: string; section?: string },
  ) => {
    const isFixed = place.field !== undefined || place.section !== undefined;
    if (isFixed && !isSystem(actor)) throw notAllowed(actor, permission, needs, draft.place.label, place);
    draft.requireRight(actor, needs);
  };
  const author = actor.name || actorName(actor);
  const document = draft.touch();
  const results = operations.map((operation, index) => {
    const path = `operations[${index}]`;
    return applyOperation(
      { doc: document.doc, schema, label: draft.place.label, path, allow, nowMs, author },
      operation,
    );
  });
  draft.revise({ kind: RevisionKind.UPDATE, actor, summary: summaryOf(operations) });
  return results;
}

const longestSummary = 200;

function summaryOf(operations: readonly BlockOperation[]): string {
  const words = operations.map(operationWords).join("; ");
  return words.length <= longestSummary ? words : `${words.slice(0, longestSummary - 1)}…`;
}

/** Throws where a block is no longer what a writer took it for. */
export function requireRevision(row: BlockRow, expected: number | undefined): void {
  if (expected === undefined || expected === row.revision) return;
  const { label, revision } = row;
  const message = `the block ${JSON.stringify(label)} is at revision ${revision}, not ${expected}`;
  throw new QuireError("BLOCK_CHANGED", message, {
    metadata: {
      label,
      revision: String(revision),
      text: textOf(row).slice(0, 512),
    },
  });
}
