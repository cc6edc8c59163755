import { Piscina } from "piscina";
import type { Task } from "./offload.js";

// biome-ignore lint/suspicious/noExplicitAny: any function of one argument can be a task
type TaskFunction = (input: any) => unknown;

/** A task took longer than it may. */
export class TaskTimedOut extends Error {
  override readonly name = "TaskTimedOut";
}

/**
 * One worker thread for work that may do harm to its thread: it runs out of time, or leaves behind what nobody may use again. Then
 * the thread is thrown away, and the next task gets another one. Tasks wait in line.
 */
export class ThrowawayThread {
  private pool: Piscina | undefined;
  private line: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  constructor(
    private readonly timeoutMs: number,
    /** So long a thread that nobody uses keeps what it loaded. */
    private readonly idleTimeoutMs = 60_000,
  ) {}

  /** `isHarmed` says of an answer that the thread is not to be used again. An error says so, too. */
  run<Run extends TaskFunction>(
    work: Task<Run>,
    input: Parameters<Run>[0],
    isHarmed: (answer: Awaited<ReturnType<Run>>) => boolean,
    timeoutMs = this.timeoutMs,
  ): Promise<Awaited<ReturnType<Run>>> {
    const done = this.line.then(() => this.runNow(work, input, isHarmed, timeoutMs));
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
    isHarmed: (answer: Awaited<ReturnType<Run>>) => boolean,
    timeoutMs: number,
  ): Promise<Awaited<ReturnType<Run>>> {
    if (this.isClosed) throw new Error("the thread is closed");
    this.pool ??= new Piscina({
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: this.idleTimeoutMs,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const answer = (await this.pool.run(input, { filename, name, signal })) as Awaited<ReturnType<Run>>;
      if (isHarmed(answer)) await this.throwAway();
      return answer;
    } catch (error) {
      await this.throwAway();
      throw signal.aborted ? new TaskTimedOut(`not done within ${timeoutMs} ms`) : error;
    }
  }

  private async throwAway(): Promise<void> {
    const { pool } = this;
    this.pool = undefined;
    await pool?.destroy();
  }
}
