import { createRequire } from "node:module";

export type SqlValue = string | number | bigint | null | Uint8Array;

/** The part of the `DatabaseSync` API that Quire uses; both drivers have it. */
export interface Statement {
  run(...args: readonly SqlValue[]): { readonly changes: number | bigint };
  all(...args: readonly SqlValue[]): unknown[];
  columns(): readonly { readonly name: string; readonly type: string | null }[];
  setReturnArrays(enabled: boolean): void;
  setReadBigInts(enabled: boolean): void;
  /** Only some drivers free a statement on request; the others leave it to the garbage collector. */
  close?(): void;
}

export interface Database {
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
  loadExtension(path: string): void;
}

export interface BackupOptions {
  readonly rate?: number;
  readonly progress?: (state: { readonly totalPages: number; readonly remainingPages: number }) => void;
}

interface Driver {
  readonly DatabaseSync: new (path: string, options: { readonly allowExtension: boolean }) => Database;
  readonly StatementSync: { readonly prototype: object };
  readonly backup: (source: Database, target: string, options: BackupOptions) => Promise<number>;
}

/** Node's own driver where it is complete (Node >= 22.16), else the package that brings the same API to Node 20. */
const driver: Driver = builtinDriver() ?? packagedDriver();

/** Opens a database file, which is created when missing; `:memory:` makes a private one. */
export function openDatabase(path: string, extensions: readonly string[] = []): Database {
  const database = new driver.DatabaseSync(path, { allowExtension: extensions.length > 0 });
  for (const extension of extensions) database.loadExtension(extension);
  return database;
}

/** Copies the database as `source` sees it, off the event loop; resolves with the number of pages. */
export function copyDatabase(source: Database, target: string, options: BackupOptions): Promise<number> {
  return driver.backup(source, target, options);
}

function builtinDriver(): Driver | undefined {
  const found = withoutSqliteWarning(() => process.getBuiltinModule("node:sqlite")) as Driver | undefined;
  if (found?.backup === undefined) return undefined;
  const complete = ["columns", "setReturnArrays"].every((method) => method in found.StatementSync.prototype);
  return complete && "isTransaction" in new found.DatabaseSync(":memory:", { allowExtension: false })
    ? found
    : undefined;
}

function packagedDriver(): Driver {
  return createRequire(import.meta.url)("@photostructure/sqlite") as Driver;
}

/** Node announces on stderr that its driver is experimental; every other warning passes. */
function withoutSqliteWarning<T>(load: () => T): T {
  const emit = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === "ExperimentalWarning" && String(warning).includes("SQLite")) return;
    Reflect.apply(emit, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emit;
  }
}
