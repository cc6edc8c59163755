import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { mergedSchema, providers } from "./schema.mjs";

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
 * @returns {readonly string[]} the files that differed
 */
export function generate(root, { check }) {
  return inScratch(root, (scratch) => {
    /** @type {string[]} */
    const stale = [];
    for (const target of targets(root)) {
      runGenerator(root, scratch, target);
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
export function generateClient(root, schemaFile, folder) {
  inScratch(root, (scratch) => {
    const schema = readFileSync(schemaFile, "utf8");
    runGenerator(root, scratch, { schema, schemaPath: "schema.prisma", output: "gen" });
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
 * @param {(scratch: string) => T} work
 */
function inScratch(root, work) {
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(join(cache, "prisma-"));
  try {
    return work(scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * @param {string} root
 * @param {string} scratch
 * @param {Target} target
 */
function runGenerator(root, scratch, target) {
  const schema = join(scratch, target.schemaPath);
  mkdirSync(dirname(schema), { recursive: true });
  writeFileSync(schema, target.schema);
  const cli = createRequire(import.meta.url).resolve("prisma/build/index.js");
  const config = fileURLToPath(new URL("../../prisma.config.ts", import.meta.url));
  const run = spawnSync(
    process.execPath,
    [cli, "generate", "--no-hints", "--config", config, "--schema", schema],
    {
      cwd: root,
      encoding: "utf8",
      env: { ...process.env, CHECKPOINT_DISABLE: "1", PRISMA_HIDE_UPDATE_MESSAGE: "1" },
    },
  );
  if (run.status !== 0) throw new Error(`${target.schemaPath}:\n${run.stderr}${run.stdout}`);
  if (!existsSync(join(scratch, target.output))) {
    throw new Error(`${target.schemaPath}: generator "output" does not lead to ${target.output}`);
  }
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
