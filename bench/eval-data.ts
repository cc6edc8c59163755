import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../src/config/package-root.js";

/** Where real conversations are, if they are there. */
export const evalDataFolder = process.env.QUIRE_EVAL_DATA ?? join(packageRoot, "..", "shared", "data");

/** The text of a file of real conversations; undefined where it is not there. */
export function readEvalData(path: string): string | undefined {
  const file = join(evalDataFolder, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
