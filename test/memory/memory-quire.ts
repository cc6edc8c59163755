import type { BlockSchema, FieldSchema, SectionSchema } from "../../src/contract/gen/quire/v1/memory.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import type { Operation } from "../../src/domain/memory.js";
import type { Quire } from "../../src/index.js";

/** Short ways to say what blocks hold, and what is done to them. */

export const entropy = { kind: "OWNER_KIND_AGENT", name: "entropy" } as const;
export const asEntropy = { kind: "ACTOR_KIND_AGENT", name: "entropy" } as const;
export const asFlux = { kind: "ACTOR_KIND_AGENT", name: "flux" } as const;
export const asPartner = { kind: "ACTOR_KIND_PARTNER", name: "ada" } as const;
export const asHuman = { kind: "ACTOR_KIND_HUMAN", name: "bob" } as const;
export const asSystem = { kind: "ACTOR_KIND_SYSTEM", name: "" } as const;

export function named(
  label: string,
  owner: { kind: "OWNER_KIND_AGENT" | "OWNER_KIND_TEAM"; name: string } = entropy,
) {
  return { owner, label };
}

type Given = { readonly section?: string; readonly operation: Operation };

/** An operation by its name: `op("setText", { text: "x" })`. */
export function op<Name extends Operation["$case"]>(
  $case: Name,
  value: Extract<Operation, { $case: Name }>["value"],
  section = "",
): Given & { section: string } {
  return { section, operation: { $case, value } as Operation };
}

export function setText(text: string, section = "") {
  return op("setText", { text }, section);
}

export function field(
  name: string,
  type: "TEXT" | "NUMBER" | "BOOLEAN" | "LIST" | "TIMESTAMP" | "COUNTER",
  more: DeepPartial<FieldSchema> = {},
) {
  return { name, type: `FIELD_TYPE_${type}` as const, ...more };
}

type Schema = NonNullable<DeepPartial<BlockSchema>>;

export const textOf: Schema = { schema: { $case: "text", value: {} } };
export const mapOf = (...fields: DeepPartial<FieldSchema>[]): Schema => ({
  schema: { $case: "map", value: { fields } },
});
export const listOf = (value: object = {}): Schema => ({ schema: { $case: "list", value } });
export const logOf = (value: object = {}): Schema => ({ schema: { $case: "log", value } });
export const compositeOf = (...sections: DeepPartial<SectionSchema>[]): Schema => ({
  schema: { $case: "composite", value: { sections } },
});

/** A block of entropy's with this content. */
export async function putBlock(
  quire: Quire,
  label: string,
  schema: Schema,
  operations: readonly Given[] = [],
  more = {},
) {
  const { block } = await quire.memory.createBlock({
    block: named(label),
    schema,
    operations: operations as never,
    ...more,
  });
  return block!;
}

export async function textNow(quire: Quire, label: string): Promise<string> {
  return (await quire.memory.getBlock({ block: named(label) })).block!.text;
}
