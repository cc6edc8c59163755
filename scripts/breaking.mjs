// Compares the contract with its committed baseline. Until there is one, the contract is open: it may break.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const baseline = "proto/baseline.binpb";
if (!existsSync(baseline)) {
  console.log(`the contract is open for breaking changes until ${baseline} is committed`);
  process.exit(0);
}
const { status } = spawnSync("npx", ["buf", "breaking", "--against", baseline], { stdio: "inherit" });
console.log(status === 0 ? "the contract breaks nothing since its baseline" : "the contract breaks callers");
process.exit(status ?? 1);
