import { type DescField, type DescOneof, getOption, type Message, toJson } from "@bufbuild/protobuf";
import { z } from "zod";
import { messageDescriptor, ruleExtension } from "./descriptors.js";

/** 64-bit numbers are texts in proto JSON. */
const count = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]);
const amount = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+$/)
    .transform(Number),
]);

const textRules = z.strictObject({
  minLen: count.optional(),
  maxLen: count.optional(),
  minBytes: count.optional(),
  maxBytes: count.optional(),
  pattern: z.string().optional(),
  in: z.array(z.string()).optional(),
});
const bytesRules = z.strictObject({ minLen: count.optional(), maxLen: count.optional() });
const numberRules = z.strictObject({ gte: amount.optional(), lte: amount.optional() });
const enumRules = z.strictObject({ definedOnly: z.literal(true), notIn: z.array(z.number()).optional() });
const boolRules = z.strictObject({ const: z.boolean().optional() });

/** Rules for a single value. */
const valueRules = {
  string: textRules.optional(),
  bytes: bytesRules.optional(),
  bool: boolRules.optional(),
  enum: enumRules.optional(),
  double: numberRules.optional(),
  int32: numberRules.optional(),
  uint32: numberRules.optional(),
  uint64: numberRules.optional(),
};
const itemRules = z.strictObject(valueRules);

/** What the contract may say of a field. A rule that is not here stops the start: what is stated is enforced. */
const fieldRules = z.strictObject({
  ...valueRules,
  required: z.boolean().optional(),
  ignore: z.enum(["IGNORE_UNSPECIFIED", "IGNORE_IF_ZERO_VALUE", "IGNORE_ALWAYS"]).optional(),
  repeated: z
    .strictObject({ minItems: count.optional(), maxItems: count.optional(), items: itemRules.optional() })
    .optional(),
  map: z
    .strictObject({ maxPairs: count.optional(), keys: itemRules.optional(), values: itemRules.optional() })
    .optional(),
});
const oneofRules = z.strictObject({ required: z.boolean().optional() });

export type TextRules = z.infer<typeof textRules>;
export type BytesRules = z.infer<typeof bytesRules>;
export type NumberRules = z.infer<typeof numberRules>;
export type EnumRules = z.infer<typeof enumRules>;
export type ValueRules = z.infer<typeof itemRules>;
export type FieldRules = z.infer<typeof fieldRules>;

/** The rules of a field; none when the contract states none. */
export function rulesOf(field: DescField): FieldRules {
  return read(field, "field", fieldRules) ?? {};
}

export function isRequiredOneof(oneof: DescOneof): boolean {
  return read(oneof, "oneof", oneofRules)?.required ?? false;
}

/** The rules of a field by its names in the contract, for code that keeps a value within its bounds instead of refusing it. */
export function rulesNamed(message: string, field: string): FieldRules {
  const found = messageDescriptor(message).fields.find(({ name }) => name === field);
  if (!found) throw new Error(`the contract has no field ${message}.${field}`);
  return rulesOf(found);
}

function read<T>(of: DescField | DescOneof, name: "field" | "oneof", rules: z.ZodType<T>): T | undefined {
  const extension = ruleExtension(name);
  if (!extension?.message) return undefined;
  const options = of.proto.options;
  if (!options) return undefined;
  const json = toJson(extension.message, getOption(of, extension) as Message);
  const result = rules.safeParse(json);
  if (result.success) return result.data;
  throw new Error(
    `${of.parent.typeName}.${of.name} has rules that are not enforced: ${JSON.stringify(json)}`,
  );
}
