import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** @typedef {"sqlite" | "postgresql"} Provider */

/** @type {readonly Provider[]} */
export const providers = ["sqlite", "postgresql"];

/**
 * One provider's whole schema: its datasource and generator, then the shared models in name order. One text, since
 * the order in which Prisma reads a folder, and with it the generated code, depends on the file system.
 * @param {string} root
 * @param {Provider} provider
 */
export function mergedSchema(root, provider) {
  const models = join(root, "prisma", "models");
  const names = readdirSync(models)
    .filter((name) => name.endsWith(".prisma"))
    .sort();
  const files = [join(root, "prisma", provider, "schema.prisma"), ...names.map((name) => join(models, name))];
  return files
    .map((file) => readFileSync(file, "utf8").trim())
    .join("\n\n")
    .concat("\n");
}

/**
 * @param {string} root
 * @param {Provider} provider
 */
export function migrationsFolder(root, provider) {
  return join(root, "prisma", provider, "migrations");
}

/**
 * @param {string} root
 * @param {Provider} provider
 */
export function readMigrations(root, provider) {
  const folder = migrationsFolder(root, provider);
  return folders(folder).map((name) => ({
    name,
    sql: readFileSync(join(folder, name, "migration.sql"), "utf8"),
  }));
}

/** @param {string} folder */
function folders(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort();
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return [];
    throw error;
  }
}
