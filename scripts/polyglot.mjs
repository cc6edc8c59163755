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
const languages = {
  python: runPython,
  go: runGo,
  rust: runRust,
  java: runJava,
  typescript: runTypescript,
  "python-inbox": runPythonInbox,
  "python-client": runPythonClient,
  "python-agent": runPythonAgent,
  "go-agent": runGoAgent,
};

/** What each example goes through: each step prints a line that begins with its name. */
const conversation = "resolved tools system history current completed recorded refused deadline".split(" ");
const expected = {
  "python-inbox": ["block", "unread", "killed", "refused"],
  "python-client": ["ok", "aio", "page"],
  "python-agent": ["turns"],
  "go-agent": ["turns"],
};
/** What the types of the Python client are checked with, in the code of its page and of the agent. */
const typeChecker = "mypy==2.4.1";
/** How many turns an agent has; 200 are the whole of it. */
const agentTurns = Number(process.env.QUIRE_AGENT_TURNS ?? 60);

function runPython(address) {
  return runWithStubs("python", example("python"), ["main.py", address]);
}

/** The plug-in that reads a mailbox, as a process of its own; its test has a mail server. */
function runPythonInbox(address) {
  return runWithStubs("inbox", join(example("plug-ins"), "python"), ["test_inbox.py", address]);
}

async function runWithStubs(name, folder, program) {
  const environment = await pythonEnvironment(name, folder);
  const env = { ...pathWith(join(environment, "bin")), PYTHONPATH: "gen" };
  await protoc(environment, folder, ["--python_out=gen", "--pyi_out=gen", "--grpc_python_out=gen"]);
  return run(["python", ...program], { cwd: folder, env });
}

/** The wheel, built as a user would and installed where nothing else of this repository is; its tests, and the code of its page. */
async function runPythonClient(address) {
  const client = await pythonClient();
  const [stand] = await startStandIns();
  try {
    const url = new URL(stand.url).origin;
    const tests = join(root, "clients", "python", "tests");
    const rules = await run([client, join(tests, "test_client.py"), address, url]);
    const asyncRules = await run([client, join(tests, "test_aio.py"), address, url]);
    const page = readFileSync(join(root, "docs", "clients", "python.md"), "utf8");
    const code = [...page.matchAll(/```python\n(.*?)```/gs)].map(([, block]) => block).join("\n");
    const program = code.replaceAll("127.0.0.1:50051", address).replaceAll("http://127.0.0.1:8080", url);
    const environment = resolve(client, "..", "..");
    const file = join(environment, "page.py");
    writeFileSync(file, program);
    const check = [client, "-m", "mypy", "--check-untyped-defs", "--cache-dir", join(environment, "mypy")];
    for (const typed of [file, join(example("python"), "agent.py")]) await run([...check, typed]);
    const said = await run([client, file]);
    const wanted = [
      "NOT_FOUND SESSION_NOT_FOUND nobody",
      "INVALID_FIELD page_size",
      "The lease ends in May. 2",
      "3 The lease ends in May.",
      "True 0",
      "4",
      "5 The lease ends in May.",
    ].join("\n");
    if (said.trim() !== wanted)
      throw new Error(`docs/clients/python.md prints\n${said}\ninstead of\n${wanted}`);
    return `${rules}${asyncRules}page ${wanted}`;
  } finally {
    await stand.close();
  }
}

async function runPythonAgent() {
  return runAgent([await pythonClient(), join(example("python"), "agent.py")]);
}

async function runGoAgent() {
  const { tools, folder } = await goStubs();
  const program = join(tools.folder, "agent");
  await run(["go", "build", "-o", program, "./agent"], { cwd: folder });
  return runAgent([program]);
}

/** An agent's long run, and what it came to. */
async function runAgent(command) {
  const { longRun } = await import(join(root, "dist", "examples", "run", "long-run.js"));
  const turnsEach = agentTurns < 200 ? 5 : 10;
  const { turns, modelCalls, workers, overflows, kills, cacheShare } = await longRun(
    { command, cwd: root },
    { root, turns: agentTurns, turnsEach },
  );
  const shares = Object.entries(cacheShare).map(([name, share]) => `${name} ${(100 * share).toFixed(1)} %`);
  return `turns ${turns}, ${modelCalls} model calls, ${workers} workers, ${overflows} contexts too long, ${kills} kills
cache ${shares.join(", ")}\n`;
}

async function startStandIns() {
  const { startProviders } = await import(join(root, "dist", "examples", "provider", "provider.js"));
  const { anthropicApi } = await import(join(root, "dist", "examples", "provider", "anthropic.js"));
  const { obedientScript } = await import(join(root, "dist", "examples", "provider", "script.js"));
  return startProviders([anthropicApi()], { script: obedientScript });
}

/** The Python of a fresh environment that the client's wheel is installed in. */
async function pythonClient() {
  const { python } = await findPython();
  const folder = join(root, "clients", "python");
  const sources = [
    "pyproject.toml",
    "setup.py",
    "generate.py",
    ...sourcesOf(join(folder, "src", "quire"), ".py"),
  ];
  const contents = sources.map((name) => readFileSync(resolve(folder, name), "utf8"));
  const contracts = contractFiles().map((file) => readFileSync(join(contract, file), "utf8"));
  const environment = kept("client", python.output, typeChecker, ...contents, ...contracts);
  const own = join(environment.folder, "bin", "python");
  await environment.prepare(async () => {
    await run([python.command, "-m", "venv", "--clear", environment.folder]);
    const pip = [own, "-m", "pip", "--quiet", "--disable-pip-version-check"];
    const wheels = join(environment.folder, "wheels");
    await run([...pip, "wheel", "--no-deps", "-w", wheels, folder]);
    await run([...pip, "install", typeChecker, ...readdirSync(wheels).map((name) => join(wheels, name))]);
  });
  return own;
}

function sourcesOf(folder, ending) {
  return readdirSync(folder)
    .filter((name) => name.endsWith(ending) && !name.endsWith("_services.py"))
    .map((name) => join(folder, name));
}

async function runGo(address) {
  const { tools, folder } = await goStubs();
  const program = join(tools.folder, "example");
  await run(["go", "build", "-o", program, "."], { cwd: folder });
  return run([program, address], { cwd: folder });
}

/** Go's tools, and the stubs that they made. */
async function goStubs() {
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
  return { tools, folder };
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
async function pythonEnvironment(name = "python", folder = example("python")) {
  const { python } = await findPython();
  const requirements = join(folder, "requirements.txt");
  const environment = kept(name, python.output, readFileSync(requirements, "utf8"));
  await environment.prepare(async () => {
    await run([python.command, "-m", "venv", "--clear", environment.folder]);
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements];
    await run([join(environment.folder, "bin", "python"), ...install]);
  });
  return environment.folder;
}

async function findPython() {
  const probe = "import sys, ensurepip, venv; assert sys.version_info >= (3, 10); print(sys.version)";
  const python = await firstThatRuns(
    [
      ["python3", "-c", probe],
      ["python", "-c", probe],
    ],
    "Python 3.10 or newer with venv",
  );
  return { python };
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
  const only = process.argv.slice(2);
  for (const [language, runExample] of Object.entries(languages)) {
    if (only.length > 0 && !only.includes(language)) continue;
    const started = Date.now();
    const outcome = await runExample(server.address).then(
      (output) => {
        const missing = (expected[language] ?? conversation).filter(
          (step) => !new RegExp(`^${step} `, "m").test(output),
        );
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
  console.log(`${language.padEnd(15)}${result.padEnd(9)}${`${seconds} s`.padStart(8)}  ${note}`.trimEnd());
}
const count = (result) => outcomes.filter((outcome) => outcome.result === result).length;
console.log(`\n${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`);
process.exitCode = count("failed") === 0 ? 0 : 1;
