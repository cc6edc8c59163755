import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "../src/config/package-root.js";

const folder = join(packageRoot, "bench");

/** Installs what only benchmarks need into bench/, if it is not there. */
export function installPeers(): void {
  if (isInstalled()) return;
  console.error("installing the engines to compare with into bench/node_modules; this happens once ...");
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error("bench/node_modules could not be installed");
}

/** Whether every package is there that is asked for; an older installation lacks some. */
function isInstalled(): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const names = Object.keys(dependencies);
  return names.every((name) => existsSync(join(folder, "node_modules", name, "package.json")));
}

/** The version of a package that is installed. */
export function peerVersion(name: string): string {
  const file = join(folder, "node_modules", name, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** A module of bench/'s own packages. Its types are the caller's to say: the packages need not be there to compile. */
export async function peerModule<T>(name: string): Promise<T> {
  installPeers();
  const { load } = (await import(pathToFileURL(join(folder, "load-peer.mjs")).href)) as {
    load(name: string): Promise<T>;
  };
  return load(name);
}
