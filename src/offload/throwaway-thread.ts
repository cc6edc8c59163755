import { Piscina } from "piscina";
import type { runClocked } from "./clocked-task.js";
import { type Task, task } from "./offload.js";
import { ThreadClock } from "./thread-clock.js";

// biome-ignore lint/suspicious/noExplicitAny: any function of one argument can be a task
type TaskFunction = (input: any) => unknown;

const clocked = task<typeof runClocked>("src/offload/clocked-task.ts", "runClocked");
/** A thread that does nothing, and does not end, is given up after so many times what it may use. */
const mostWaits = 30;
const looksPerLimit = 50;

/** A task used more CPU time than it may. */
export class TaskTimedOut extends Error {
  override readonly name = "TaskTimedOut";
}

/**
 * One worker thread for work that may do harm to its thread: it runs out of time, or leaves behind what nobody may use again. Then
 * the thread is thrown away, and the next task gets another one. Tasks wait in line. Their time is that of the CPU, so that a busy
 * machine fails none of them.
 */
export class ThrowawayThread {
  private pool: Piscina | undefined;
  private line: Promise<unknown> = Promise.resolve();
  private isClosed = false;
  private readonly clock = new ThreadClock();

  constructor(
    private readonly limitMs: number,
    /** So long a thread that nobody uses keeps what it loaded. */
    private readonly idleTimeoutMs = 60_000,
  ) {}

  /** `isHarmed` says of an answer, and of what the thread holds now outside of its heap, that it is not to be used again. An error says so, too. */
  run<Run extends TaskFunction>(
    work: Task<Run>,
    input: Parameters<Run>[0],
    isHarmed: (answer: Awaited<ReturnType<Run>>, heldBytes: number) => boolean,
    limitMs = this.limitMs,
  ): Promise<Awaited<ReturnType<Run>>> {
    const done = this.line.then(() => this.runNow(work, input, isHarmed, limitMs));
    this.line = done.catch(() => undefined);
    return done;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.throwAway();
  }

  private async runNow<Run extends TaskFunction>(
    { filename, name }: Task<Run>,
    input: Parameters<Run>[0],
    isHarmed: (answer: Awaited<ReturnType<Run>>, heldBytes: number) => boolean,
    limitMs: number,
  ): Promise<Awaited<ReturnType<Run>>> {
    if (this.isClosed) throw new Error("the thread is closed");
    this.pool ??= new Piscina({
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: this.idleTimeoutMs,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const { clock } = this;
    const stopping = new AbortController();
    const look = () => {
      if (clock.usedMs > limitMs || clock.passedMs > limitMs * mostWaits) stopping.abort();
    };
    clock.start();
    const looking = setInterval(look, limitMs / looksPerLimit).unref();
    try {
      const given = { filename, name, input, clock: clock.memory };
      const options = { filename: clocked.filename, name: clocked.name, signal: stopping.signal };
      const answer = (await this.pool.run(given, options)) as Awaited<ReturnType<Run>>;
      if (isHarmed(answer, clock.heldBytes)) await this.throwAway();
      return answer;
    } catch (error) {
      await this.throwAway();
      throw stopping.signal.aborted ? new TaskTimedOut(`not done within ${limitMs} ms of CPU time`) : error;
    } finally {
      clearInterval(looking);
    }
  }

  private async throwAway(): Promise<void> {
    const { pool } = this;
    this.pool = undefined;
    await pool?.destroy();
  }
}
