import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { Writable } from "node:stream";
import { createProgram } from "../../../src/cli/program.js";
import { reportError } from "../../../src/cli/report-error.js";
import { packageRoot } from "../../../src/config/package-root.js";

export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

class Collector extends Writable {
  readonly #chunks: Buffer[] = [];

  constructor(readonly isTTY: boolean) {
    super();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    this.#chunks.push(Buffer.from(chunk));
    done();
  }
}

/** Runs a command in this process, from the sources, as if another program read what it says. */
export function runCli(...args: readonly string[]): Promise<CliRun> {
  return run(false, args);
}

/** The same, as if a person read it. */
export function runCliOnScreen(...args: readonly string[]): Promise<CliRun> {
  return run(true, args);
}

async function run(isScreen: boolean, args: readonly string[]): Promise<CliRun> {
  const stdout = new Collector(isScreen);
  const stderr = new Collector(isScreen);
  const terminal = { stdout, stderr, interactive: false };
  let code = 0;
  try {
    await createProgram(terminal).parseAsync(["node", "quire", ...args]);
  } catch (error) {
    code = reportError(terminal, error, args.includes("--json"));
  }
  return { code, out: stdout.text, err: stderr.text };
}

export interface RunningCli {
  readonly child: ChildProcessWithoutNullStreams;
  readonly done: Promise<CliRun>;
  /** What it said so far. */
  output(): { readonly out: string; readonly err: string };
  /** Resolves when it has said this, on either stream, or has ended. */
  said(words: RegExp): Promise<void>;
}

/** Starts `node bin/quire.js`, which runs the build, without the settings of whoever runs the tests. */
export function spawnCli(...args: readonly string[]): RunningCli {
  return spawnProcess(quireCommand(...args));
}

/** The command line that runs the build. */
export function quireCommand(...args: readonly string[]): readonly string[] {
  return [process.execPath, join(packageRoot, "bin", "quire.js"), ...args];
}

/** Starts any command like that, as another user where one is named. */
export function spawnProcess(
  [command, ...args]: readonly string[],
  user: { readonly uid?: number; readonly gid?: number } = {},
): RunningCli {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("QUIRE_")));
  const child = spawn(command!, args, { env, ...user });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
  });
  const done = new Promise<CliRun>((resolve) => {
    child.on("close", (code) => resolve({ code: code ?? -1, out, err }));
  });
  const said = (words: RegExp) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (words.test(out) || words.test(err)) resolve();
      };
      child.stdout.on("data", look);
      child.stderr.on("data", look);
      child.once("close", () => resolve());
      look();
    });
  return { child, done, output: () => ({ out, err }), said };
}

export function jsonLines<T = Record<string, unknown>>(text: string): readonly T[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}
