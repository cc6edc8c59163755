import type { BlockSchema, PlainSchema } from "../../domain/memory.js";

/** A part of a block with one plain schema. A block that is no composite is one section without a name. */
export interface Section {
  readonly name: string;
  readonly description: string;
  readonly readOnly: boolean;
  readonly schema: PlainSchema;
}

export const defaultDisplayLimit = 10;
export const defaultMaxItems = 10_000;

/** What a block holds that names no schema. */
export const textSchema: BlockSchema = { schema: { $case: "text", value: { viewport: undefined } } };

export function isComposite({ schema }: BlockSchema): boolean {
  return schema?.$case === "composite";
}

/** The sections of a schema, in order. */
export function sectionsOf({ schema }: BlockSchema): readonly Section[] {
  if (!schema) return [];
  if (schema.$case !== "composite") return [{ name: "", description: "", readOnly: false, schema }];
  return schema.value.sections.map((section) => ({ ...section, schema: section.schema! }));
}
