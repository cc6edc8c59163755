import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { diffSql } from "./prisma/engine.mjs";
import { generate, generateClient } from "./prisma/generate.mjs";
import { mergedSchema, migrationsFolder, providers, readMigrations } from "./prisma/schema.mjs";
import { postgresStub, withPostgres } from "./prisma/shadow-postgres.mjs";
import { sqliteShadow } from "./prisma/shadow-sqlite.mjs";

/** @import { Provider } from "./prisma/schema.mjs" */

const usage = `node scripts/prisma.mjs <command>
  generate                  writes the Prisma clients
  generate --check          fails when the clients in the tree are not what the models generate
  client <schema> <folder>  writes the client of another schema to a folder that is not there yet
  sql <provider>            prints the SQL that builds the models in an empty database
  diff [provider]           prints the SQL that the migrations lack
  check                     fails when the migrations do not build exactly the models
  new <name>                writes a migration with that SQL, for each provider that lacks some
providers: ${providers.join(", ")}`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { check: { type: "boolean", default: false }, root: { type: "string" } },
});
const root = values.root ?? fileURLToPath(new URL("..", import.meta.url));

/** @param {Provider} provider */
async function fromEmpty(provider) {
  const adapter = provider === "sqlite" ? sqliteShadow() : postgresStub();
  return diffSql(root, { schema: mergedSchema(root, provider), migrations: [], adapter, provider });
}

/** @param {Provider} provider */
async function missingSql(provider) {
  const migrations = readMigrations(root, provider);
  if (migrations.length === 0) return fromEmpty(provider);
  // The whole model as the only migration needs no server to compare.
  if (migrations.length === 1 && migrations[0]?.sql === (await fromEmpty(provider))) return "";
  const input = { schema: mergedSchema(root, provider), migrations, provider };
  if (provider === "sqlite") return diffSql(root, { ...input, adapter: sqliteShadow() });
  return withPostgres((adapter) => diffSql(root, { ...input, adapter }));
}

/** @param {string} name */
async function writeMigrations(name) {
  if (!/^[a-z0-9_]+$/.test(name)) throw new Error("a migration's name is made of a-z, 0-9 and _");
  const stamp = new Date().toISOString().replace(/\D/g, "").slice(0, 14);
  const missing = new Map();
  for (const provider of providers) missing.set(provider, await missingSql(provider));
  for (const [provider, sql] of missing) {
    if (sql === "") continue;
    const folder = join(migrationsFolder(root, provider), `${stamp}_${name}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "migration.sql"), sql);
    console.log(join(folder, "migration.sql"));
  }
}

/** @param {string | undefined} name */
function provider(name) {
  const found = providers.find((candidate) => candidate === name);
  if (found === undefined) throw new Error(usage);
  return found;
}

/** @param {string} title @param {readonly string[]} problems */
function failIfAny(title, problems) {
  if (problems.length === 0) return;
  console.error([title, ...problems].join("\n"));
  process.exitCode = 1;
}

const [command, argument, target] = positionals;
switch (command) {
  case "generate": {
    const changed = await generate(root, { check: values.check });
    if (values.check) failIfAny("Out of date; run `node scripts/prisma.mjs generate`:", changed);
    else for (const file of changed) console.log(file);
    break;
  }
  case "client":
    if (argument === undefined || target === undefined) throw new Error(usage);
    await generateClient(root, argument, target);
    break;
  case "sql":
    process.stdout.write(await fromEmpty(provider(argument)));
    break;
  case "diff":
    for (const name of argument === undefined ? providers : [provider(argument)]) {
      process.stdout.write(await missingSql(name));
    }
    break;
  case "check": {
    const missing = [];
    for (const name of providers) {
      const sql = await missingSql(name);
      if (sql !== "") missing.push(`-- ${name}\n${sql}`);
    }
    failIfAny("The migrations lack this SQL; run `node scripts/prisma.mjs new <name>`:", missing);
    break;
  }
  case "new":
    if (argument === undefined) throw new Error(usage);
    await writeMigrations(argument);
    break;
  default:
    console.error(usage);
    process.exitCode = 1;
}
