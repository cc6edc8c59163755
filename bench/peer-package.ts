import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "../src/config/package-root.js";

const folder = join(packageRoot, "bench");
const resolve = createRequire(join(folder, "package.json")).resolve;

/** Installs what only benchmarks need into bench/, if it is not there. */
export function installPeers(): void {
  if (existsSync(join(folder, "node_modules", ".package-lock.json"))) return;
  console.error("installing the engines to compare with into bench/node_modules; this happens once ...");
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error("bench/node_modules could not be installed");
}

/** A module of bench/'s own packages. Its types are the caller's to say: the packages need not be there to compile. */
export async function peerModule<T>(name: string): Promise<T> {
  installPeers();
  return (await import(pathToFileURL(resolve(name)).href)) as T;
}
