import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

function findRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) throw new Error(`no package.json above ${from}`);
  }
}

/** The folder that holds package.json, whether this file runs from src/ or from dist/src/. */
export const packageRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)));

/**
 * Where the compiled form of a source module is. Worker threads load JavaScript only, so even tests, which
 * run the TypeScript sources, start their workers from dist/.
 */
export function compiledModule(sourcePath: string): URL {
  return pathToFileURL(join(packageRoot, "dist", sourcePath.replace(/\.ts$/, ".js")));
}
