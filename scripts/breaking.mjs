// Compares the contract with its committed baseline: what was there may not be taken away or get another meaning. `--accept` makes the
// contract as it is the baseline: with a release, or for a break that was decided.
import { spawnSync } from "node:child_process";

const baseline = "proto/baseline.binpb";
const accept = process.argv.includes("--accept");
const args = accept
  ? ["build", "proto", "--exclude-source-info", "-o", baseline]
  : ["breaking", "proto", "--exclude-imports", "--against", baseline];
const { status } = spawnSync("npx", ["buf", ...args], { stdio: "inherit" });
if (status !== 0) console.log("the contract breaks callers");
else
  console.log(
    accept ? `${baseline} is the contract as it is` : "the contract breaks nothing since its baseline",
  );
process.exit(status ?? 1);
