// Everything that must hold before a change lands. `--without-tests` leaves the tests out.
import { spawnSync } from "node:child_process";

const steps = [
  ["format and lint", "npx", "biome", "check", "."],
  ["client: code and types", "node", "scripts/client.mjs"],
  ["types", "npx", "tsc", "-p", "tsconfig.json"],
  ["layers", "node", "scripts/layers.mjs"],
  ["contract: lint", "npx", "buf", "lint"],
  ["contract: format", "npx", "buf", "format", "--diff", "--exit-code"],
  ["contract: comments", "node", "scripts/comments.mjs"],
  ["contract: breaking changes", "node", "scripts/breaking.mjs"],
  ["lines of the agents", "node", "scripts/engine-lines.mjs", "--check"],
  ["generated code", "node", "scripts/generated.mjs"],
  ...(process.argv.includes("--without-tests") ? [] : [["tests", "npm", "test"]]),
];

const failed = [];
for (const [name, command, ...args] of steps) {
  console.log(`\n== ${name}`);
  const started = Date.now();
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  if (status !== 0) failed.push(name);
  console.log(
    `-- ${name}: ${status === 0 ? "ok" : "FAILED"} (${((Date.now() - started) / 1000).toFixed(1)} s)`,
  );
}
console.log(failed.length === 0 ? "\nall checks passed" : `\nfailed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
