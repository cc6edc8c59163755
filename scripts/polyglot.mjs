// Runs the examples in each language against a built server. A language whose toolchain is missing is skipped, and said so.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";

const root = resolve(import.meta.dirname, "..");
const cache = join(root, "node_modules", ".cache", "quire-polyglot");
const binaries = join(root, "node_modules", ".bin");
const pathWith = (...folders) => ({ PATH: [...folders, binaries, process.env.PATH].join(delimiter) });

class Skipped extends Error {}

/** Each takes the server's address, prepares what it needs (kept for the next run), and gives what the example printed. */
const languages = { python: runPython, go: runGo, typescript: runTypescript };

async function runPython(address) {
  const folder = join(root, "examples", "python");
  const probe = "import sys, ensurepip, venv; assert sys.version_info >= (3, 10); print(sys.version)";
  const python = await firstThatRuns(
    [
      ["python3", "-c", probe],
      ["python", "-c", probe],
    ],
    "Python 3.10 or newer with venv",
  );
  const requirements = join(folder, "requirements.txt");
  const environment = kept("python", python.output, readFileSync(requirements, "utf8"));
  const path = {
    PATH: [join(environment.folder, "bin"), process.env.PATH].join(delimiter),
  };
  await environment.prepare(async () => {
    await run([python.command, "-m", "venv", "--clear", environment.folder]);
    await run(
      ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements],
      { env: path },
    );
  });
  await generate("python", ["contract"], path);
  return run(["python", "main.py", address], { cwd: folder, env: { ...path, PYTHONPATH: "gen" } });
}

async function runGo(address) {
  const folder = join(root, "examples", "go");
  // Asks in the module, so that a Go that is too old gets the one that go.mod asks for, if it may.
  const go = await firstThatRuns([["go", "version"]], "Go 1.24 or newer", folder);
  const tools = kept("go", go.output, readFileSync(join(folder, "go.mod"), "utf8"));
  await tools.prepare(() => run(["go", "install", "tool"], { cwd: folder, env: { GOBIN: tools.folder } }));
  await generate("go", ["contract"], pathWith(tools.folder));
  const program = join(tools.folder, "example");
  await run(["go", "build", "-o", program, "."], { cwd: folder });
  return run([program, address], { cwd: folder });
}

async function runTypescript(address) {
  if (!existsSync(join(binaries, "tsc"))) throw new Skipped("the development packages are not installed");
  await generate("typescript", []);
  await run([join(binaries, "tsc"), "-p", "examples/typescript"]);
  return run([process.execPath, join("examples", "typescript", "gen", "build", "main.js"), address]);
}

/** Stubs from the contract, by the language's own plugins. */
function generate(language, inputs, env = pathWith()) {
  return run(
    [join(binaries, "buf"), "generate", ...inputs, "--template", `examples/${language}/buf.gen.yaml`],
    { env },
  );
}

/** A folder that outlives the run; what it was made from is in its name. */
function kept(name, ...madeFrom) {
  const hash = createHash("sha256").update(madeFrom.join("\n")).digest("hex").slice(0, 16);
  const folder = join(cache, `${name}-${hash}`);
  const mark = join(folder, ".ready");
  return {
    folder,
    async prepare(make) {
      if (existsSync(mark)) return;
      mkdirSync(folder, { recursive: true });
      await make();
      writeFileSync(mark, "");
    },
  };
}

async function firstThatRuns(candidates, what, cwd) {
  for (const command of candidates) {
    const output = await run(command, { cwd }).catch(() => undefined);
    if (output !== undefined) return { command: command[0], output };
  }
  throw new Skipped(`there is no ${what} on the path`);
}

/** What a command printed; an error with all of it if the command fails or takes too long. */
function run([command, ...args], { cwd = root, env = {}, limitMs = 300_000 } = {}) {
  return new Promise((done, failed) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    let output = "";
    child.stdout.on("data", (data) => {
      output += data;
    });
    child.stderr.on("data", (data) => {
      output += data;
    });
    child.on("error", failed);
    child.on("close", (code, signal) => {
      if (code === 0) done(output);
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
  for (const [language, example] of Object.entries(languages)) {
    const started = Date.now();
    const outcome = await example(server.address).then(
      (output) => ({ result: "passed", note: "", output }),
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
