import { Decimal } from "@prisma/client/runtime/client";

/** Values as text that shows their type, so that expectations are plain literals: `9n`, `Decimal 1.5`, `bytes 00ff`. */
export function readable(value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Date) return `date ${value.toISOString()}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("hex")}`;
  if (Decimal.isDecimal(value)) return `Decimal ${value}`;
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, readable(inner)]));
}
