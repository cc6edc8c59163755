import { fileURLToPath } from "node:url";
import { move, Piscina, transferableSymbol, valueSymbol } from "piscina";
import { compiledModule } from "../config/package-root.js";
import { untilAborted } from "../domain/until-aborted.js";

// biome-ignore lint/suspicious/noExplicitAny: any function of one argument can be a task
type TaskFunction = (input: any) => unknown;

/** A function that can run in a worker thread: a module that exports it, and its name there. What goes in and comes out is cloned. */
export interface Task<Run extends TaskFunction> {
  readonly filename: string;
  readonly name: string;
  /** Only a type: a task is made by `task<typeof run>(...)`. */
  readonly run?: Run;
}

export function task<Run extends TaskFunction>(sourcePath: string, name: string): Task<Run> {
  return { filename: fileURLToPath(compiledModule(sourcePath)), name };
}

/** Says in a worker thread that these buffers of its answer are handed over, and not cloned. */
export function handingOver<T>(answer: T, buffers: readonly ArrayBuffer[]): T {
  return move({ [transferableSymbol]: buffers, [valueSymbol]: answer } as never) as T;
}

interface Place {
  take(): void;
  drop(reason: unknown): void;
}

/** Long enough that a thread keeps what it loaded for the next task. */
const idleTimeoutMs = 3_600_000;

/**
 * Work that would hold up the event loop, in a few worker threads that start when they are first needed. An abort ends
 * the wait, and drops work that has not begun; what has begun is finished for nobody, so a task must be bounded itself. (To
 * end its thread would cost the next task all that the thread had loaded.) It keeps the process alive only while somebody waits.
 */
export class Offload {
  private readonly threads: number;
  private readonly waiting = new Set<Place>();
  private pool: Piscina | undefined;
  private atWork = 0;
  private closed = false;

  constructor(threads: number) {
    this.threads = threads;
  }

  async run<Run extends TaskFunction>(
    work: Task<Run>,
    input: Parameters<Run>[0],
    signal?: AbortSignal,
    /** Buffers of the input that are handed over, and not cloned: nobody here may use them any more. */
    transferList: ArrayBuffer[] = [],
  ): Promise<Awaited<ReturnType<Run>>> {
    await this.place(signal);
    if (this.closed) throw closed();
    this.pool ??= this.start();
    const { filename, name } = work;
    const done = this.pool.run(input, { filename, name, transferList }).finally(() => this.free());
    return signal ? untilAborted(done, signal) : done;
  }

  /** Ends the threads and rejects who waits for them. */
  async close(): Promise<void> {
    this.closed = true;
    for (const place of this.waiting) place.drop(closed());
    await this.pool?.destroy();
  }

  private start(): Piscina {
    return new Piscina({
      minThreads: 0,
      maxThreads: this.threads,
      idleTimeout: idleTimeoutMs,
      execArgv: [],
      // Behind the event loop, where cores are few.
      niceIncrement: 5,
      // A larger one fills with garbage: a thread then holds twice as much, and is no faster.
      resourceLimits: { maxYoungGenerationSizeMb: 12 },
    });
  }

  /** One place per thread: who waits for one waits here, where an abort can still drop the work. */
  private async place(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.closed) throw closed();
    if (this.atWork < this.threads) {
      this.atWork++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const abort = () => place.drop(signal?.reason);
      const leave = () => {
        this.waiting.delete(place);
        signal?.removeEventListener("abort", abort);
      };
      const place: Place = {
        take: () => {
          leave();
          resolve();
        },
        drop: (reason) => {
          leave();
          reject(reason);
        },
      };
      this.waiting.add(place);
      signal?.addEventListener("abort", abort);
    });
  }

  /** The place goes to who waited longest. */
  private free(): void {
    const [next] = this.waiting;
    if (next && !this.closed) next.take();
    else this.atWork--;
  }
}

function closed(): Error {
  return new Error("the worker threads are closed");
}
