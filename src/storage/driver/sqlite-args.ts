import { type ArgType, DriverAdapterError, type SqlQuery } from "@prisma/driver-adapter-utils";
import type { SqlValue } from "./database-sync.js";

/** The values to bind, in the array that was given when none needs a change. */
export function bindable({ args, argTypes }: SqlQuery): readonly SqlValue[] {
  let changed: unknown[] | undefined;
  for (let index = 0; index < args.length; index += 1) {
    const given = args[index];
    const type = argTypes[index];
    const value = type === undefined ? untyped(given) : typed(given, type);
    if (!isBindable(value)) refuse(value, index);
    if (value === given) continue;
    changed ??= [...args];
    changed[index] = value;
  }
  return (changed ?? args) as readonly SqlValue[];
}

/**
 * Callers that bypass the Prisma client send no types. The drivers bind every number as REAL, which shows outside
 * of typed columns (`'x' || 5.0`, `7 / 2.0`), so whole ones become bigint, which they bind as INTEGER.
 */
function untyped(value: unknown): unknown {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === "boolean") return value ? 1n : 0n;
  return value;
}

function typed(value: unknown, type: ArgType): unknown {
  if (typeof value === "string") return parse(value, type);
  if (typeof value === "boolean") return value ? 1 : 0;
  return value instanceof Date ? timestamp(value) : value;
}

/** Prisma sends every scalar but booleans as text and says what it stands for. */
function parse(text: string, type: ArgType): unknown {
  switch (type.scalarType) {
    case "int":
      return Number.parseInt(text, 10);
    case "float":
    case "decimal":
      return Number.parseFloat(text);
    case "bigint":
      return BigInt(text);
    case "datetime":
      return timestamp(new Date(text));
    case "bytes":
      return Buffer.from(text, "base64");
    default:
      return text;
  }
}

/** The form that Prisma's own SQLite adapters store, which sorts as text. */
function timestamp(date: Date): string {
  return date.toISOString().replace("Z", "+00:00");
}

/** SQLite's text may hold a NUL, but the drivers would cut it there without a word; other objects they take for named parameters. */
function isBindable(value: unknown): boolean {
  if (typeof value === "string") return !value.includes("\0");
  if (typeof value === "object") return value === null || ArrayBuffer.isView(value);
  return typeof value === "number" || typeof value === "bigint";
}

function refuse(value: unknown, index: number): never {
  const what = typeof value === "string" ? "text with a NUL character" : `a value of type ${typeof value}`;
  const message = `${what} cannot be stored (parameter ${index + 1})`;
  throw new DriverAdapterError({ kind: "InvalidInputValue", message });
}
