// Fails when what is committed and generated (code, the contract for clients, the picture) is not what its sources give now.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "quire-generated-"));
const run = (command, ...args) => {
  const { status, stderr, stdout } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
};
const filesOf = (path) =>
  statSync(path).isFile()
    ? [path]
    : readdirSync(path, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
const contents = (base, part) =>
  new Map(
    filesOf(join(base, part)).map((path) => [relative(base, path), readFileSync(path).toString("base64")]),
  );
try {
  const gen = join("src", "contract", "gen");
  run("npx", "buf", "generate", "--output", folder);
  run("node", "scripts/own-keys.mjs", folder);
  run(
    "npx",
    "buf",
    "build",
    "--as-file-descriptor-set",
    "--exclude-source-info",
    "-o",
    join(folder, gen, "descriptors.binpb"),
  );
  run("node", "scripts/contract.mjs", folder);
  run("node", "scripts/picture.mjs", folder);
  const stale = [gen, "contract", join("docs", "context.svg")].flatMap((part) => {
    const expected = contents(folder, part);
    const actual = contents(root, part);
    return [...new Set([...expected.keys(), ...actual.keys()])].filter(
      (path) => expected.get(path) !== actual.get(path),
    );
  });
  for (const path of stale) console.error(`${path} is out of date`);
  run("node", "scripts/prisma.mjs", "generate", "--check");
  run("node", "scripts/prisma.mjs", "check");
  if (stale.length > 0) process.exitCode = 1;
  else console.log("generated code, the picture and migrations are up to date");
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (process.exitCode)
  console.error("run `npm run generate`; for new tables and columns, `node scripts/prisma.mjs new <name>`");
