export type JsonObject = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text under a key; empty when there is none. */
export function textAt(object: JsonObject, key: string): string {
  const value = object[key];
  return typeof value === "string" ? value : "";
}

export function objectAt(object: JsonObject, key: string): JsonObject | undefined {
  const value = object[key];
  return isObject(value) ? value : undefined;
}

export function listAt(object: JsonObject, key: string): readonly unknown[] {
  const value = object[key];
  return Array.isArray(value) ? value : [];
}

/** A count under a key, as the contract's uint32 can hold it; 0 when there is none. */
export function countAt(object: JsonObject | undefined, key: string): number {
  const value = object?.[key];
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.round(value), 0xffff_ffff);
}
