import { type DescField, ScalarType } from "@bufbuild/protobuf";

export type SingleField = DescField & { readonly fieldKind: "scalar" | "enum" };

/** The zero of a field's type: what a field without presence holds when nothing was sent. */
export function zeroOf(field: SingleField): string | number | boolean | Buffer {
  if (field.fieldKind === "enum") return field.enum.values.find(({ number }) => number === 0)!.name;
  switch (field.scalar) {
    case ScalarType.STRING:
      return "";
    case ScalarType.BYTES:
      return Buffer.alloc(0);
    case ScalarType.BOOL:
      return false;
    default:
      return 0;
  }
}
