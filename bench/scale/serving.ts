import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { compiledModule } from "../../src/config/package-root.js";
import type { Task } from "./server.js";

/** A server of the benchmark, as its parent sees it. */
export class Serving {
  private constructor(
    private readonly process: ChildProcess,
    /** From the beginning of the process until it served. */
    readonly startMs: number,
  ) {}

  static async start(settings: object): Promise<Serving> {
    const begun = performance.now();
    const child = fork(compiledModule("bench/scale/server.ts"), [JSON.stringify(settings)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      execArgv: [],
    });
    await answerOf(child);
    return new Serving(child, performance.now() - begun);
  }

  async ask<T>(task: Task): Promise<T> {
    this.process.send(task);
    return (await answerOf(this.process)) as T;
  }

  /** What it holds now. */
  get rssMb(): number {
    const status = readFileSync(`/proc/${this.process.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
  }

  async end(): Promise<void> {
    const exited = once(this.process, "exit");
    this.process.send({ do: "end" } satisfies Task);
    await exited;
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      once(child, "message", ended).then(([message]) => (message as { answer: unknown }).answer),
      once(child, "exit", ended).then(([code]) => {
        throw new Error(`a server of the benchmark ended (${code})`);
      }),
    ]);
  } finally {
    ended.abort();
  }
}
