// Generates and compiles the TypeScript client, the agent that uses it, and the plug-in. Generated code is not committed: it is made again whenever the contract has changed.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const client = join(root, "clients", "typescript");
const gen = join(client, "src", "gen");
const binaries = join(root, "node_modules", ".bin");
const template = join(client, "buf.gen.yaml");
const mark = join(client, "dist", ".made-from");

function run(command, args) {
  const env = { ...process.env, PATH: [binaries, process.env.PATH].join(delimiter) };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, env, encoding: "utf8" });
  if (status === 0) return;
  process.stderr.write(`${command} failed\n${stdout}${stderr}`);
  process.exit(status ?? 1);
}

/** What the generated code depends on. */
function sources() {
  const contract = join(root, "contract", "quire", "v1");
  const files = readdirSync(contract).map((name) => join(contract, name));
  const hash = createHash("sha256");
  for (const file of [...files.sort(), template]) hash.update(readFileSync(file));
  return hash.digest("hex");
}

const madeFrom = sources();
const isCurrent = existsSync(gen) && existsSync(mark) && readFileSync(mark, "utf8") === madeFrom;
if (!isCurrent) {
  // Not on standard output: what is run next may print JSON there.
  process.stderr.write("building the client, which takes a while the first time ...\n");
  rmSync(join(client, "dist"), { recursive: true, force: true });
  run(join(binaries, "buf"), ["generate", "--template", template]);
}
const typescript = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
const compile = (project) => run(process.execPath, [join(typescript, "bin", "tsc"), "-p", project]);
compile(client);
compile(join(root, "examples", "tsconfig.agents.json"));
mkdirSync(dirname(mark), { recursive: true });
writeFileSync(mark, madeFrom);
