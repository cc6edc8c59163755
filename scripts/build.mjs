// Compiles src/ and bench/ to dist/, and says so while it does. `--clean` begins with an empty dist/.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
if (process.argv.includes("--clean")) rmSync(dist, { recursive: true, force: true });
const isFirst = !existsSync(join(dist, ".tsbuildinfo"));
const started = performance.now();
// Not on standard output: what is run next may print JSON there.
process.stderr.write(`building dist/${isFirst ? ", which takes a while the first time" : ""} ... `);
const compiler = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin",
  "tsc",
);
const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
const seconds = ((performance.now() - started) / 1_000).toFixed(1);
process.stderr.write(status === 0 ? `done in ${seconds} s\n` : `failed\n${stdout}`);
process.exit(status ?? 1);
