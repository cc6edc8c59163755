import { QuireError } from "../errors/quire-error.js";

/** What came of one job: its answer, its own failure, or that it must go to a later batch. */
export type Outcome<Answer> =
  | { readonly kind: "done"; readonly answer: Answer }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "deferred" };

export interface QueuedJob {
  readonly bytes: number;
  readonly signal?: AbortSignal | undefined;
}

interface WriteQueueOptions<Job, Answer> {
  /**
   * Runs jobs in one transaction. Each gets its own outcome; a throw means that nothing of the batch was
   * written. The first job of a batch is never deferred.
   */
  readonly run: (jobs: readonly Job[]) => Promise<readonly Outcome<Answer>[]>;
  /** Whether the same job may succeed when it is run again. */
  readonly mayRetry: (error: unknown, attempt: number) => boolean;
  /** Whether an error is no job's own, so that none of them would fare better alone. */
  readonly failsAll: (error: unknown) => boolean;
  readonly maxJobs: number;
  readonly maxBytes: number;
}

interface Waiting<Job, Answer> {
  readonly job: Job;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

interface Failure {
  readonly error: unknown;
}

/**
 * Group commit: whatever waits when a transaction ends goes into the next one together. A lone job waits for
 * no one: it starts on the event loop's next turn, so that requests which arrived in one read share a commit. A batch that
 * fails as a whole is run again job by job, so that one bad job fails alone; unless it is the database that fails.
 */
export class WriteQueue<Job extends QueuedJob, Answer> {
  private waiting: Waiting<Job, Answer>[] = [];
  private draining: Promise<void> | undefined;

  constructor(private readonly options: WriteQueueOptions<Job, Answer>) {}

  submit(job: Job): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      this.draining ??= new Promise((done) => {
        setImmediate(() => {
          this.drain().then(done);
        });
      });
    });
  }

  /** Resolves when all that was submitted has its outcome. */
  async idle(): Promise<void> {
    while (this.draining) await this.draining;
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      if (batch.length > 0) await this.runBatch(batch);
      // Lets requests that arrived during the transaction join the next one.
      if (this.waiting.length > 0) await new Promise((next) => setImmediate(next));
    }
    this.draining = undefined;
  }

  private takeBatch(): Waiting<Job, Answer>[] {
    const batch: Waiting<Job, Answer>[] = [];
    let bytes = 0;
    let taken = 0;
    for (const entry of this.waiting) {
      if (
        batch.length >= this.options.maxJobs ||
        (batch.length > 0 && bytes + entry.job.bytes > this.options.maxBytes)
      ) {
        break;
      }
      taken++;
      if (wasCancelled(entry)) continue;
      bytes += entry.job.bytes;
      batch.push(entry);
    }
    this.waiting = this.waiting.slice(taken);
    return batch;
  }

  private async runBatch(batch: readonly Waiting<Job, Answer>[]): Promise<void> {
    let outcomes: readonly Outcome<Answer>[];
    try {
      outcomes = await this.options.run(batch.map((entry) => entry.job));
    } catch (error) {
      await this.runOneByOne(batch, error);
      return;
    }
    const deferred = batch.filter((entry, index) => !settle(entry, outcomes[index]!));
    this.waiting = [...deferred, ...this.waiting];
  }

  private async runOneByOne(batch: readonly Waiting<Job, Answer>[], error: unknown): Promise<void> {
    let shared = this.options.failsAll(error) ? { error } : undefined;
    for (const entry of batch) {
      if (!shared && wasCancelled(entry)) continue;
      // What failed alone is tried again only if that may help; what failed with others has not been alone yet.
      const failed =
        shared ?? (batch.length === 1 ? await this.runAgain(entry, error) : await this.runAlone(entry));
      if (!failed) continue;
      if (this.options.failsAll(failed.error)) shared = failed;
      entry.reject(failed.error);
    }
  }

  private async runAlone(entry: Waiting<Job, Answer>): Promise<Failure | undefined> {
    try {
      settle(entry, (await this.options.run([entry.job]))[0]!);
      return undefined;
    } catch (error) {
      return this.runAgain(entry, error);
    }
  }

  private async runAgain(entry: Waiting<Job, Answer>, firstError: unknown): Promise<Failure | undefined> {
    let error = firstError;
    for (let attempt = 1; this.options.mayRetry(error, attempt); attempt++) {
      try {
        settle(entry, (await this.options.run([entry.job]))[0]!);
        return undefined;
      } catch (again) {
        error = again;
      }
    }
    return { error };
  }
}

/** Turns away a job whose caller has gone. */
function wasCancelled<Job extends QueuedJob, Answer>(entry: Waiting<Job, Answer>): boolean {
  if (!entry.job.signal?.aborted) return false;
  entry.reject(new QuireError("CANCELLED", "the call was cancelled before it was written"));
  return true;
}

function settle<Job, Answer>(entry: Waiting<Job, Answer>, outcome: Outcome<Answer>): boolean {
  if (outcome.kind === "deferred") return false;
  if (outcome.kind === "done") entry.resolve(outcome.answer);
  else entry.reject(outcome.error);
  return true;
}
