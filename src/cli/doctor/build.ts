import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Check, fail, ok, warn } from "./check.js";

/** Whether dist/ is there, and made from src/ as it is now. */
export async function checkBuild(root: string): Promise<Check> {
  const built = join(root, "dist", "src");
  if (!existsSync(join(built, "main.js"))) return fail("Build", "dist/ is not there", "npm run build");
  const source = join(root, "src");
  if (!existsSync(join(source, "main.ts"))) return ok("Build", "came with the package");
  // A build leaves files alone that did not change, so only the newest of each side can be compared.
  const [newestSource, newestBuilt] = await Promise.all([newest(source, ".ts"), newest(built, ".js")]);
  const info = join(root, "dist", ".tsbuildinfo");
  const lastBuild = Math.max(newestBuilt, existsSync(info) ? (await stat(info)).mtimeMs : 0);
  return newestSource > lastBuild
    ? warn("Build", "dist/ is older than src/", "npm run build")
    : ok("Build", "dist/ is newer than src/");
}

async function newest(folder: string, ending: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(ending));
  const times = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).mtimeMs),
  );
  return times.reduce((latest, time) => Math.max(latest, time), 0);
}
