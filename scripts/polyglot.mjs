// Runs the examples in each language against a built server. A language whose toolchain is missing is skipped, and said so.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

const root = resolve(import.meta.dirname, "..");
const cache = join(root, "node_modules", ".cache", "quire-polyglot");
const binaries = join(root, "node_modules", ".bin");
const contract = join(root, "contract");
const pathWith = (...folders) => ({ PATH: [...folders, process.env.PATH].join(delimiter) });
const example = (language) => join(root, "examples", language);

class Skipped extends Error {}

/** Each takes the server's address, prepares what it needs (kept for the next run), and gives what the example printed. */
const languages = { python: runPython, go: runGo, rust: runRust, java: runJava, typescript: runTypescript };

/** What each example goes through: each step prints a line that begins with its name. */
const steps = "resolved tools system history current completed recorded refused deadline".split(" ");

async function runPython(address) {
  const folder = example("python");
  const environment = await pythonEnvironment();
  const env = { ...pathWith(join(environment, "bin")), PYTHONPATH: "gen" };
  await protoc(environment, folder, ["--python_out=gen", "--pyi_out=gen", "--grpc_python_out=gen"]);
  return run(["python", "main.py", address], { cwd: folder, env });
}

async function runGo(address) {
  const folder = example("go");
  // Asks in the module, so that a Go that is too old gets the one that go.mod asks for, if it may.
  const go = await firstThatRuns([["go", "version"]], "Go 1.24 or newer", { cwd: folder });
  const environment = await pythonEnvironment().catch((error) => {
    throw error instanceof Skipped ? new Skipped(`protoc is Python's, and ${error.message}`) : error;
  });
  const tools = kept("go", go.output, readFileSync(join(folder, "go.mod"), "utf8"));
  await tools.prepare(() => run(["go", "install", "tool"], { cwd: folder, env: { GOBIN: tools.folder } }));
  const beside = "paths=source_relative";
  const outputs = ["--go_out=gen", `--go_opt=${beside}`, "--go-grpc_out=gen", `--go-grpc_opt=${beside}`];
  await protoc(environment, folder, outputs, pathWith(tools.folder));
  const program = join(tools.folder, "example");
  await run(["go", "build", "-o", program, "."], { cwd: folder });
  return run([program, address], { cwd: folder });
}

/** `build.rs` runs protoc: the one of a crate. */
async function runRust(address) {
  const suits = (output) => Number(/^cargo 1\.(\d+)/.exec(output)?.[1]) >= 88;
  await firstThatRuns([["cargo", "--version"]], "Rust 1.88 or newer", { suits });
  const target = join(cache, "rust");
  // Without what a debugger and the next change would need, which is half of it.
  const env = { CARGO_TARGET_DIR: target, CARGO_PROFILE_DEV_DEBUG: "0", CARGO_INCREMENTAL: "0" };
  await run(["cargo", "build", "--locked", "--quiet"], { cwd: example("rust"), env });
  return run([join(target, "debug", "quire-example"), address]);
}

/** A plugin of Maven runs protoc: the one of Maven's repository. */
async function runJava(address) {
  const suits = (output) =>
    /Apache Maven (3\.[89]|3\.\d\d|[4-9])/.test(output) &&
    Number(/^Java version: (\d+)/m.exec(output)?.[1]) >= 17 &&
    existsSync(join(/runtime: (.+)/.exec(output)?.[1] ?? "", "bin", "javac"));
  await firstThatRuns([["mvn", "--version"]], "Maven 3.8 or newer with a JDK of 17 or newer", { suits });
  // In one folder, classes of messages that the contract no longer has would stay.
  const build = kept("java", ...contractFiles().map((file) => readFileSync(join(contract, file), "utf8")));
  await build.prepare();
  // Most of the build's time would go into optimizing code that runs once.
  const env = { MAVEN_OPTS: `${process.env.MAVEN_OPTS ?? ""} -XX:TieredStopAtLevel=1` };
  const goals = ["compile", "exec:java", `-Dbuild.folder=${build.folder}`, `-Dexec.args=${address}`];
  return run(["mvn", "--batch-mode", "--quiet", ...goals], { cwd: example("java"), env });
}

async function runTypescript(address) {
  if (!existsSync(join(binaries, "tsc"))) throw new Skipped("the development packages are not installed");
  const template = join(example("typescript"), "buf.gen.yaml");
  await run([join(binaries, "buf"), "generate", "--template", template], { env: pathWith(binaries) });
  await run([join(binaries, "tsc"), "-p", "examples/typescript"]);
  return run([process.execPath, join("examples", "typescript", "gen", "build", "main.js"), address]);
}

/** A folder with the Python that has what the example needs, grpcio-tools with its protoc among it. */
async function pythonEnvironment() {
  const probe = "import sys, ensurepip, venv; assert sys.version_info >= (3, 10); print(sys.version)";
  const python = await firstThatRuns(
    [
      ["python3", "-c", probe],
      ["python", "-c", probe],
    ],
    "Python 3.10 or newer with venv",
  );
  const requirements = join(example("python"), "requirements.txt");
  const environment = kept("python", python.output, readFileSync(requirements, "utf8"));
  await environment.prepare(async () => {
    await run([python.command, "-m", "venv", "--clear", environment.folder]);
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements];
    await run([join(environment.folder, "bin", "python"), ...install]);
  });
  return environment.folder;
}

/** Stubs in `gen`, by a plain protoc that knows the contract's folder and nothing else. */
function protoc(environment, folder, outputs, env) {
  rmSync(join(folder, "gen"), { recursive: true, force: true });
  mkdirSync(join(folder, "gen"));
  const command = [join(environment, "bin", "python"), "-m", "grpc_tools.protoc"];
  return run([...command, `--proto_path=${contract}`, ...outputs, ...contractFiles()], { cwd: folder, env });
}

function contractFiles() {
  return readdirSync(join(contract, "quire", "v1")).map((name) => `quire/v1/${name}`);
}

/** A folder that outlives the run, in place of those that were made from something else. */
function kept(name, ...madeFrom) {
  const hash = createHash("sha256").update(madeFrom.join("\n")).digest("hex").slice(0, 16);
  const folder = join(cache, `${name}-${hash}`);
  const mark = join(folder, ".ready");
  return {
    folder,
    async prepare(make) {
      if (existsSync(mark)) return;
      mkdirSync(folder, { recursive: true });
      for (const other of readdirSync(cache)) {
        if (other.startsWith(`${name}-`) && join(cache, other) !== folder) {
          rmSync(join(cache, other), { recursive: true });
        }
      }
      await make?.();
      writeFileSync(mark, "");
    },
  };
}

async function firstThatRuns(candidates, what, { cwd, suits = () => true } = {}) {
  for (const command of candidates) {
    const output = await run(command, { cwd }).catch(() => undefined);
    if (output !== undefined && suits(output)) return { command: command[0], output };
  }
  throw new Skipped(`there is no ${what} on the path`);
}

/** What a command printed; an error with all of it if the command fails or takes too long. */
function run([command, ...args], { cwd = root, env = {}, limitMs = 600_000 } = {}) {
  return new Promise((done, failed) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env } });
    // Not spawn's own limit: that of a command that is not there would hold up the end of the script.
    setTimeout(() => child.kill("SIGKILL"), limitMs).unref();
    let output = "";
    child.stdout.on("data", (data) => {
      output += data;
    });
    child.stderr.on("data", (data) => {
      output += data;
    });
    child.on("error", failed);
    child.on("close", (code, signal) => {
      if (code === 0) done(stripVTControlCharacters(output));
      else failed(new Error(`${[command, ...args].join(" ")} ended with ${code ?? signal}\n${output}`));
    });
  });
}

/** A built server on a free port, with a database that is gone afterwards. */
async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), "quire-polyglot-"));
  const flags = ["--listen", "127.0.0.1:0", "--database", `file:${join(folder, "quire.db")}`];
  flags.push("--prime-file", join(folder, "prime.md"), "--log-level", "info");
  const child = spawn(process.execPath, [join(root, "bin", "quire.js"), "serve", ...flags], { cwd: root });
  const exited = new Promise((done) => child.once("exit", done));
  let errors = "";
  child.stderr.on("data", (data) => {
    errors += data;
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface(child.stdout)) {
    const address = /"addresses":\["([^"]+)"/.exec(line)?.[1];
    child.stdout.resume();
    if (address) return { address, stop };
  }
  await stop();
  throw new Error(`the server ended before it served\n${errors}`);
}

const server = await startServer();
const outcomes = [];
try {
  for (const [language, runExample] of Object.entries(languages)) {
    const started = Date.now();
    const outcome = await runExample(server.address).then(
      (output) => {
        const missing = steps.filter((step) => !new RegExp(`^${step} `, "m").test(output));
        if (missing.length === 0) return { result: "passed", note: "", output };
        return { result: "failed", note: `these steps are missing: ${missing.join(", ")}`, output };
      },
      (error) => ({
        result: error instanceof Skipped ? "skipped" : "failed",
        note: error.message.split("\n")[0],
        output: error.message,
      }),
    );
    outcomes.push({ language, ...outcome, seconds: ((Date.now() - started) / 1000).toFixed(1) });
    console.log(`== ${language}\n${outcome.output.trimEnd()}\n`);
  }
} finally {
  await server.stop();
}
for (const { language, result, seconds, note } of outcomes) {
  console.log(`${language.padEnd(12)}${result.padEnd(9)}${`${seconds} s`.padStart(8)}  ${note}`.trimEnd());
}
const count = (result) => outcomes.filter((outcome) => outcome.result === result).length;
console.log(`\n${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
process.exitCode = count("failed") === 0 ? 0 : 1;
