import { DatabaseSync } from "@photostructure/sqlite";
import { ColumnTypeEnum } from "@prisma/driver-adapter-utils";

/**
 * In-memory databases for the schema engine: one to connect to, one to replay migrations on. The server's own
 * adapter is TypeScript and needs generated code to build, so this step before the build has a plain one.
 * @returns {import("@prisma/driver-adapter-utils").SqlMigrationAwareDriverAdapterFactory}
 */
export function sqliteShadow() {
  const info = /** @type {const} */ ({ provider: "sqlite", adapterName: "shadow" });
  return {
    ...info,
    connect: async () => openAdapter(info),
    connectToShadowDb: async () => openAdapter(info),
  };
}

/**
 * @param {{ readonly provider: "sqlite", readonly adapterName: string }} info
 * @returns {import("@prisma/driver-adapter-utils").SqlDriverAdapter}
 */
function openAdapter(info) {
  // The engine quotes strings with " when it asks about partial indexes.
  const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: true });
  return {
    ...info,
    queryRaw: async ({ sql, args }) => {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      const rows = /** @type {unknown[][]} */ (statement.all(.../** @type {string[]} */ (args)));
      const columnNames = statement.columns().map(({ name }) => name);
      const columnTypes = columnNames.map((_, index) => columnType(rows, index));
      if (!sql.includes("FROM sqlite_master")) return { columnNames, columnTypes, rows };
      // Search indexes are virtual tables, which a data model cannot name: they are not compared.
      const hidden = virtualTables(database);
      return { columnNames, columnTypes, rows: rows.filter(([name]) => !hidden.has(name)) };
    },
    // The engine hands over whole migrations here, which a prepared statement would cut after the first statement.
    executeRaw: async ({ sql }) => {
      database.exec(sql);
      return 0;
    },
    executeScript: async (script) => database.exec(script),
    startTransaction: async () => {
      throw new Error("the schema engine opens no transactions");
    },
    dispose: async () => database.close(),
  };
}

/** @param {import("@photostructure/sqlite").DatabaseSyncInstance} database */
function virtualTables(database) {
  const rows = database
    .prepare("SELECT name FROM pragma_table_list WHERE type IN ('virtual', 'shadow')")
    .all();
  return new Set(rows.map((row) => row.name));
}

/**
 * @param {readonly (readonly unknown[])[]} rows
 * @param {number} index
 */
function columnType(rows, index) {
  const value = rows.map((row) => row[index]).find((candidate) => candidate !== null);
  return typeof value === "string" ? ColumnTypeEnum.Text : ColumnTypeEnum.Int64;
}
