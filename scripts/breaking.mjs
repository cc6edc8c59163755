// Compares the contract with the main branch, from the local repository alone.
import { spawnSync } from "node:child_process";

const git = (...args) => {
  const { status, stdout } = spawnSync("git", args, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
};
const head = git("rev-parse", "HEAD");
const main = git("rev-parse", "main") ?? git("rev-parse", "origin/main");
const dirty = git("status", "--porcelain", "--", "proto") !== "";
// On main itself, what is not committed is compared with main, and a clean tree with the commit before.
const base =
  main === head ? (dirty ? main : git("rev-parse", "HEAD~1")) : main && git("merge-base", main, "HEAD");
if (!base || git("cat-file", "-e", `${base}:buf.yaml`) === undefined) {
  console.log("nothing to compare with: the main branch has no earlier contract here");
  process.exit(0);
}
const { status } = spawnSync("npx", ["buf", "breaking", "--against", `.git#ref=${base}`], {
  stdio: "inherit",
});
console.log(
  status === 0 ? `the contract breaks nothing since ${base.slice(0, 12)}` : "the contract breaks callers",
);
process.exit(status ?? 1);
