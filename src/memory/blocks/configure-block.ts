import {
  type Block,
  type BlockActor,
  type BlockName,
  BlockPermission,
  type BlockSchema,
  BlockType,
  RevisionKind,
} from "../../domain/memory.js";
import { QuireError } from "../../errors/quire-error.js";
import type { BlockRow } from "../../storage/memory/rows.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { MemoryDeps } from "../deps.js";
import { changeSchema } from "../document/change-schema.js";
import { encodeSchema } from "../memory-codec.js";
import { actorOf, isOwn } from "../permissions.js";
import type { BlockDraft } from "./block-draft.js";
import { placeOf } from "./block-place.js";
import { checkDefaults, writeDefaults } from "./create-block.js";
import { viewBlock } from "./views.js";

export interface ConfigureBlock {
  readonly block: BlockName | undefined;
  readonly actor: BlockActor | undefined;
  readonly type: BlockType;
  readonly pinned?: boolean | undefined;
  readonly description?: string | undefined;
  readonly permission: BlockPermission;
  readonly charLimit?: number | undefined;
  readonly schema: BlockSchema | undefined;
  readonly allowLoss: boolean;
}

export interface ConfiguredBlock {
  readonly block: Block | undefined;
  readonly lost: readonly string[];
}

/** Changes what a block is. What it may hold, and who may do what, is for those to change who may do everything. */
export async function configureBlock(
  deps: MemoryDeps,
  key: WriteKey<ConfiguredBlock>,
  command: ConfigureBlock,
): Promise<ConfiguredBlock> {
  const actor = actorOf(command.actor);
  if (command.schema) checkDefaults(command.schema);
  return deps.writer.write(key, placeOf(command.block!), (draft) => {
    const before = draft.require(actor);
    const isDeep =
      command.permission !== BlockPermission.UNSPECIFIED ||
      command.charLimit !== undefined ||
      command.schema !== undefined;
    draft.requireRight(actor, isDeep ? "admin" : "write");
    const changes = changesOf(command, before);
    const isNewSchema =
      command.schema !== undefined && !encodeSchema(command.schema).equals(Buffer.from(before.schema));
    const lost = isNewSchema ? newSchema(draft, command.schema!, command.allowLoss) : [];
    const names = [...Object.keys(changes), ...(isNewSchema ? ["schema"] : [])];
    if (names.length > 0) {
      draft.row = { ...before, ...changes };
      const summary = `configured ${names.join(", ")}`;
      const schema = isNewSchema ? { schema: command.schema! } : {};
      draft.revise({ kind: RevisionKind.CONFIGURE, actor, summary, isAlways: true, ...schema });
    }
    const seen = { permission: draft.permissionFor(actor), isShared: !isOwn(actor, draft.owner) };
    return (row) => ({ block: viewBlock(row!, seen), lost });
  });
}

function changesOf(command: ConfigureBlock, before: BlockRow): Partial<BlockRow> {
  const { type, pinned, description, permission, charLimit } = command;
  const asked = {
    type: type === BlockType.UNSPECIFIED ? before.type : type,
    pinned: pinned ?? before.pinned,
    description: description ?? before.description,
    permission: permission === BlockPermission.UNSPECIFIED ? before.permission : permission,
    charLimit: charLimit ?? before.charLimit,
  };
  return Object.fromEntries(
    Object.entries(asked).filter(([name, value]) => before[name as keyof typeof asked] !== value),
  );
}

/** Changes the schema. Gives what it lost, which has to be allowed. */
function newSchema(draft: BlockDraft, schema: BlockSchema, allowLoss: boolean): readonly string[] {
  const { doc } = draft.touch();
  const before = draft.schema;
  const { lost, added } = changeSchema(doc, before, schema);
  if (lost.length > 0 && !allowLoss) {
    const { label } = draft.place;
    const message = `the schema has no place for ${lost.join(", ")} of the block ${JSON.stringify(label)}; allow_loss changes it all the same`;
    throw new QuireError("SCHEMA_LOSES_CONTENT", message, { metadata: { label, lost: lost.join(", ") } });
  }
  writeDefaults(doc, schema, (section, field) => added(section, field));
  return lost;
}
