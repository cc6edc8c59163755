import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Check, ok, warn } from "./check.js";

const run = promisify(execFile);

interface Toolchain {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly hint: string;
}

/** What only some tasks need: without it Quire itself runs as well. An installed package has no examples, and needs none of it. */
export async function checkToolchains(root: string): Promise<readonly Check[]> {
  if (!existsSync(join(root, "examples"))) return [];
  const toolchains: readonly Toolchain[] = [
    {
      name: "buf (optional)",
      command: join(root, "node_modules", ".bin", "buf"),
      args: ["--version"],
      hint: "npm ci brings it",
    },
    {
      name: "Python (optional)",
      command: "python3",
      args: ["--version"],
      hint: "only for the Python examples",
    },
    { name: "Go (optional)", command: "go", args: ["version"], hint: "only for the Go examples" },
  ];
  return Promise.all(toolchains.map(checkToolchain));
}

async function checkToolchain({ name, command, args, hint }: Toolchain): Promise<Check> {
  try {
    const { stdout } = await run(command, [...args], { timeout: 10_000 });
    return ok(name, stdout.trim());
  } catch {
    return warn(name, "not found", hint);
  }
}
