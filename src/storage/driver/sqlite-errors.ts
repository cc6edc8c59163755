import { DriverAdapterError, type MappedError } from "@prisma/driver-adapter-utils";
import { UnansweredCommit } from "./unanswered-commit.js";

/** SQLite's result codes; extended ones hold the primary one in their low byte. */
const code = {
  error: 1,
  busy: 5,
  foreignKey: 787,
  notNull: 1299,
  primaryKey: 1555,
  trigger: 1811,
  unique: 2067,
  rowId: 2579,
  syncFailed: 1034,
  folderSyncFailed: 1290,
} as const;

const codeNames: ReadonlyMap<number, string> = new Map([
  [code.error, "SQLITE_ERROR"],
  [code.busy, "SQLITE_BUSY"],
  [code.foreignKey, "SQLITE_CONSTRAINT_FOREIGNKEY"],
  [code.notNull, "SQLITE_CONSTRAINT_NOTNULL"],
  [code.primaryKey, "SQLITE_CONSTRAINT_PRIMARYKEY"],
  [code.trigger, "SQLITE_CONSTRAINT_TRIGGER"],
  [code.unique, "SQLITE_CONSTRAINT_UNIQUE"],
  [code.rowId, "SQLITE_CONSTRAINT_ROWID"],
]);

interface SqliteError extends Error {
  readonly errcode: number;
}

/** Whatever the driver threw, as the error that Prisma turns into its own codes. */
export function adapterError(error: unknown): unknown {
  if (error instanceof DriverAdapterError || !(error instanceof Error)) return error;
  if (isSqliteError(error)) {
    return new DriverAdapterError({
      originalCode: codeNames.get(error.errcode) ?? `SQLITE_${error.errcode}`,
      originalMessage: error.message,
      ...mapped(error),
    });
  }
  const cause = bindingError(error);
  return cause === undefined ? error : new DriverAdapterError({ originalMessage: error.message, ...cause });
}

/**
 * What a COMMIT failed with. Where the disk did not confirm it, the log holds the whole commit: a server that is started again
 * may find it there.
 */
export function commitError(error: unknown): unknown {
  const isUnconfirmed =
    isSqliteError(error) && (error.errcode === code.syncFailed || error.errcode === code.folderSyncFailed);
  if (!isUnconfirmed) return adapterError(error);
  return new UnansweredCommit({ kind: "sqlite", extendedCode: error.errcode, message: error.message });
}

export function isBusy(error: unknown): boolean {
  return isSqliteError(error) && (error.errcode & 0xff) === code.busy;
}

/** An integer was read that a number cannot hold. */
export function isOutOfRange(error: unknown): boolean {
  return errorCode(error) === "ERR_OUT_OF_RANGE";
}

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** The driver refused a value before SQLite saw it. */
function bindingError(error: Error): MappedError | undefined {
  switch (errorCode(error)) {
    case "ERR_INVALID_ARG_VALUE":
      return { kind: "ValueOutOfRange", cause: error.message };
    case "ERR_INVALID_ARG_TYPE":
      return { kind: "InvalidInputValue", message: error.message };
    default:
      return undefined;
  }
}

function mapped(error: SqliteError): MappedError {
  switch (error.errcode) {
    case code.unique:
    case code.primaryKey:
    case code.rowId:
      return { kind: "UniqueConstraintViolation", ...violated(error.message) };
    case code.notNull:
      return { kind: "NullConstraintViolation", ...constraintOf(error.message) };
    case code.foreignKey:
    case code.trigger:
      return { kind: "ForeignKeyConstraintViolation", constraint: { foreignKey: {} } };
    default:
      return isBusy(error) ? { kind: "SocketTimeout" } : byMessage(error);
  }
}

function byMessage({ errcode, message }: SqliteError): MappedError {
  const table = /no such table: (.+)/.exec(message)?.[1];
  if (table !== undefined) return { kind: "TableDoesNotExist", table };
  const column = /(?:no such column: |has no column named )(.+)/.exec(message)?.[1];
  if (column !== undefined) return { kind: "ColumnNotFound", column };
  return { kind: "sqlite", extendedCode: errcode, message };
}

/** `UNIQUE constraint failed: User.email, User.tenant`, or `...: index 'name'` for an index on expressions. */
function violated(message: string): {
  constraint?: { fields: string[] } | { index: string };
  table?: string;
} {
  const index = /constraint failed: index '(.+)'/.exec(message)?.[1];
  if (index !== undefined) return { constraint: { index } };
  const table = /constraint failed: (.+?)\.[^.,]+(?:,|$)/.exec(message)?.[1];
  return { ...constraintOf(message), ...(table === undefined ? {} : { table }) };
}

function constraintOf(message: string): { constraint?: { fields: string[] } } {
  const columns = message.split("constraint failed: ")[1]?.split(", ");
  if (columns === undefined) return {};
  return { constraint: { fields: columns.map((column) => column.slice(column.lastIndexOf(".") + 1)) } };
}
