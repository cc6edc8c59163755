import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import { migrationsFolder } from "./schema.mjs";

/** @type {ReturnType<typeof startEngine> | undefined} */
let started;

/**
 * Prisma's schema engine, from npm. The package's own entry imports the .wasm as a module, which Node does not do,
 * so it is started by hand; once only, since its bindings keep views of the first instance's memory.
 * @param {string} root
 */
function loadEngine(root) {
  started ??= startEngine(root);
  return started;
}

/** @param {string} root */
async function startEngine(root) {
  const glue = createRequire(join(root, "package.json")).resolve(
    "@prisma/schema-engine-wasm/schema_engine_bg",
  );
  const bindings = await import(pathToFileURL(glue).href);
  const bytes = readFileSync(glue.replace(/\.js$/, ".wasm"));
  const { instance } = await WebAssembly.instantiate(bytes, { "./schema_engine_bg.js": bindings });
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: console.error } });
  bindings.__wbg_set_wasm(instance.exports);
  /** @type {() => void} */ (instance.exports.__wbindgen_start)();
  return bindings.SchemaEngine;
}

/**
 * The SQL that leads from what `migrations` build to what `schema` says; empty when they agree. With no migrations
 * the database is not touched, so any adapter factory of the right provider will do.
 * @param {string} root
 * @param {{
 *   readonly schema: string,
 *   readonly migrations: readonly { readonly name: string, readonly sql: string }[],
 *   readonly adapter: import("@prisma/driver-adapter-utils").SqlMigrationAwareDriverAdapterFactory,
 *   readonly provider: import("./schema.mjs").Provider,
 * }} input
 * @returns {Promise<string>}
 */
export async function diffSql(root, { schema, migrations, adapter, provider }) {
  const SchemaEngine = await loadEngine(root);
  const files = [{ path: "schema.prisma", content: schema }];
  const bound = bindMigrationAwareSqlAdapterFactory(adapter);
  const datamodels = files.map(({ path, content }) => [path, content]);
  const engine = await SchemaEngine.new({ datamodels }, () => {}, bound);
  try {
    const { stdout } = await engine.diff({
      from: migrations.length === 0 ? { tag: "empty" } : migrationList(root, migrations, provider),
      to: { tag: "schemaDatamodel", files },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    });
    return stdout === null || stdout.trim() === "-- This is an empty migration." ? "" : withoutSchema(stdout);
  } catch (error) {
    const id = /External error id#(\d+)/.exec(String(error))?.[1];
    throw id === undefined ? error : bound.errorRegistry.consumeError(Number(id))?.error;
  } finally {
    engine.free();
  }
}

/**
 * PostgreSQL's default schema is always there, and asking for it needs a right that a plain role may lack.
 * @param {string} sql
 */
function withoutSchema(sql) {
  return sql.replace('-- CreateSchema\nCREATE SCHEMA IF NOT EXISTS "public";\n\n', "");
}

/**
 * @param {string} root
 * @param {readonly { readonly name: string, readonly sql: string }[]} migrations
 * @param {import("./schema.mjs").Provider} provider
 */
function migrationList(root, migrations, provider) {
  return {
    tag: "migrations",
    baseDir: migrationsFolder(root, provider),
    lockfile: { path: "migration_lock.toml", content: `provider = "${provider}"\n` },
    shadowDbInitScript: "",
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: "migration.sql", content: { tag: "ok", value: sql } },
    })),
  };
}
