import { BlockSchema as WireSchema } from "../contract/gen/quire/v1/memory.js";
import type { BlockSchema } from "../domain/memory.js";

/** Schemas as they are stored: in wire form. */

export function encodeSchema(schema: BlockSchema): Buffer {
  return Buffer.from(WireSchema.encode(schema as WireSchema).finish());
}

export function decodeSchema(bytes: Uint8Array): BlockSchema {
  return WireSchema.decode(bytes) as BlockSchema;
}
