import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { mergedSchema, providers } from "./schema.mjs";

// As CommonJS: Node cannot load what they have as modules.
const require = createRequire(import.meta.url);
const { PrismaClientTsGenerator } = require("@prisma/client-generator-ts");
const { enginesVersion } = require("@prisma/engines-version");
const { formatSchema, getConfig, getDMMF } = require("@prisma/internals");

/**
 * A client to generate. `schemaPath` and `output` are relative to the root; the schema's own `output` must lead
 * from the folder of `schemaPath` to `output`.
 * @typedef {{ readonly schema: string, readonly schemaPath: string, readonly output: string }} Target
 */

/**
 * @param {string} root
 * @returns {readonly Target[]}
 */
function targets(root) {
  return providers.map((provider) => ({
    schema: mergedSchema(root, provider),
    schemaPath: `prisma/${provider}/schema.prisma`,
    output: `src/storage/gen/${provider}`,
  }));
}

/**
 * Generates every client in a scratch tree and compares. Without `check`, clients that differ are replaced.
 * @param {string} root
 * @param {{ readonly check: boolean }} options
 * @returns {Promise<readonly string[]>} the files that differed
 */
export function generate(root, { check }) {
  return inScratch(root, async (scratch) => {
    /** @type {string[]} */
    const stale = [];
    for (const target of targets(root)) {
      await runGenerator(scratch, target);
      const [made, kept] = [join(scratch, target.output), join(root, target.output)];
      const changed = differences(made, kept);
      stale.push(...changed.map((file) => join(target.output, file)));
      if (check || changed.length === 0) continue;
      rmSync(kept, { recursive: true, force: true });
      cpSync(made, kept, { recursive: true });
    }
    return stale;
  });
}

/**
 * Generates the client of one schema, whose own `output` must be "./gen", in a folder of the cache. The folder appears when
 * it is whole; of several who make it at once, one does, and all can use it.
 * @param {string} root
 * @param {string} schemaFile
 * @param {string} folder
 */
export async function generateClient(root, schemaFile, folder) {
  await inScratch(root, async (scratch) => {
    const schema = readFileSync(schemaFile, "utf8");
    await runGenerator(scratch, { schema, schemaPath: "schema.prisma", output: "gen" });
    mkdirSync(dirname(folder), { recursive: true });
    try {
      renameSync(join(scratch, "gen"), folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  });
}

/**
 * @template T
 * @param {string} root
 * @param {(scratch: string) => Promise<T>} work
 */
async function inScratch(root, work) {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(join(cache, "prisma-"));
  try {
    return await work(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Prisma's generator, called as its command line calls it, which is another 150 MB.
 * @param {string} scratch
 * @param {Target} target
 */
async function runGenerator(scratch, target) {
  const schemaPath = join(scratch, target.schemaPath);
  mkdirSync(dirname(schemaPath), { recursive: true });
  const schemas = await formatSchema({ schemas: [[schemaPath, target.schema]] });
  const { generators, datasources } = await getConfig({ datamodel: schemas });
  const [generator] = generators;
  const output = resolve(dirname(schemaPath), generator?.output?.value ?? "");
  if (output !== join(scratch, target.output)) {
    throw new Error(`${target.schemaPath}: generator "output" does not lead to ${target.output}`);
  }
  await new PrismaClientTsGenerator().generate({
    generator: { ...generator, output: { fromEnvVar: null, value: output } },
    otherGenerators: [],
    schemaPath,
    dmmf: await getDMMF({ datamodel: schemas }),
    datasources,
    datamodel: schemas[0][1],
    version: enginesVersion,
    noHints: true,
  });
}

/**
 * @param {string} made
 * @param {string} kept
 */
function differences(made, kept) {
  const names = new Set([...files(made), ...files(kept)]);
  return [...names].filter((name) => read(join(made, name)) !== read(join(kept, name))).sort();
}

/** @param {string} folder */
function files(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

/** @param {string} file */
function read(file) {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
