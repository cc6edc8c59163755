import { describe, expect, it } from "vitest";
import { QuireError } from "../../../src/errors/quire-error.js";
import { type Outcome, type QueuedJob, WriteQueue } from "../../../src/storage/write-queue.js";

interface Job extends QueuedJob {
  readonly name: string;
}

type Run = (jobs: readonly Job[], call: number) => Promise<readonly Outcome<string>[]>;

const job = (name: string, more: Partial<Job> = {}): Job => ({ name, bytes: 1, ...more });
const done = (jobs: readonly Job[]): Outcome<string>[] =>
  jobs.map(({ name }) => ({ kind: "done", answer: `${name} done` }));
const nextTurn = () => new Promise((next) => setImmediate(next));

/** A queue that writes down which jobs each of its runs had. */
function queueOf(run: Run, limits: { readonly maxJobs?: number; readonly maxBytes?: number } = {}) {
  const runs: string[] = [];
  const queue = new WriteQueue<Job, string>({
    run: (jobs) => {
      runs.push(jobs.map(({ name }) => name).join(" "));
      return run(jobs, runs.length);
    },
    mayRetry: (error, attempt) => (error as Error).message === "lost a race" && attempt <= 2,
    failsAll: (error) => error instanceof QuireError,
    maxJobs: limits.maxJobs ?? 4,
    maxBytes: limits.maxBytes ?? 100,
  });
  const submit = (...jobs: readonly Job[]) =>
    Promise.all(jobs.map((entry) => queue.submit(entry).catch((error: Error) => error.message)));
  return { queue, runs, submit };
}

describe("the write queue", () => {
  it("runs what was submitted in one turn of the event loop together, in order", async () => {
    const { runs, submit } = queueOf(async (jobs) => done(jobs));
    expect(await submit(job("a"), job("b"), job("c"))).toEqual(["a done", "b done", "c done"]);
    expect(runs).toEqual(["a b c"]);
  });

  it("starts a lone job on the next turn of the event loop", async () => {
    let turns = 0;
    let startedAt = -1;
    const { submit } = queueOf(async (jobs) => {
      startedAt = turns;
      return done(jobs);
    });
    const submitted = submit(job("a"));
    // Queued after the job: so it counts only turns that the job let pass.
    const count = () => {
      turns++;
      if (startedAt < 0) setImmediate(count);
    };
    setImmediate(count);
    await submitted;
    expect(startedAt).toBe(0);
  });

  it("puts what arrives during a run into the next one", async () => {
    const late: Promise<unknown>[] = [];
    const { runs, submit } = queueOf(async (jobs, call) => {
      if (call === 1) {
        late.push(submit(job("b")), submit(job("c")));
        await nextTurn();
      }
      return done(jobs);
    });
    await submit(job("a"));
    await Promise.all(late);
    expect(runs).toEqual(["a", "b c"]);
  });

  it("keeps to its bounds of jobs and bytes, but runs a large job alone", async () => {
    const { runs, submit } = queueOf(async (jobs) => done(jobs), { maxJobs: 2, maxBytes: 10 });
    await submit(job("a"), job("b"), job("c"), job("large", { bytes: 50 }), job("d", { bytes: 9 }), job("e"));
    expect(runs).toEqual(["a b", "c", "large", "d e"]);
  });

  it("gives each job its own outcome", async () => {
    const { submit } = queueOf(async (jobs) =>
      jobs.map(
        ({ name }): Outcome<string> =>
          name === "bad" ? { kind: "failed", error: new Error("refused") } : { kind: "done", answer: name },
      ),
    );
    expect(await submit(job("a"), job("bad"), job("b"))).toEqual(["a", "refused", "b"]);
  });

  it("runs deferred jobs before those that came later, in their order", async () => {
    const { runs, submit } = queueOf(async (jobs) =>
      jobs.map((_, index): Outcome<string> => (index === 0 ? done(jobs)[0]! : { kind: "deferred" })),
    );
    await submit(...["a", "b", "c", "d", "e"].map((name) => job(name)));
    expect(runs).toEqual(["a b c d", "b c d e", "c d e", "d e", "e"]);
  });

  it("runs a batch that failed again job by job, so that one bad job fails alone", async () => {
    const { runs, submit } = queueOf(async (jobs) => {
      if (jobs.some(({ name }) => name === "bad")) throw new Error("constraint");
      return done(jobs);
    });
    expect(await submit(job("a"), job("bad"), job("b"))).toEqual(["a done", "constraint", "b done"]);
    expect(runs).toEqual(["a bad b", "a", "bad", "b"]);
  });

  it("tries a job again that lost a race, so often and no more", async () => {
    const { runs, submit } = queueOf(async (jobs, call) => {
      if (jobs[0]!.name === "never" || call < 3) throw new Error("lost a race");
      return done(jobs);
    });
    expect(await submit(job("a"))).toEqual(["a done"]);
    expect(await submit(job("never"))).toEqual(["lost a race"]);
    expect(runs).toEqual(["a", "a", "a", "never", "never", "never"]);
  });

  it("fails the whole batch at once when the database does, and goes on with the next", async () => {
    const { runs, submit } = queueOf(async (jobs, call) => {
      if (call === 1) throw new QuireError("STORAGE_UNAVAILABLE", "down");
      return done(jobs);
    });
    expect(await submit(job("a"), job("b"))).toEqual(["down", "down"]);
    expect(await submit(job("c"))).toEqual(["c done"]);
    expect(runs).toEqual(["a b", "c"]);
  });

  it("gives up on the rest of a batch when the database fails while it is run job by job", async () => {
    const { runs, submit } = queueOf(async (_, call) => {
      throw call === 1 ? new Error("constraint") : new QuireError("STORAGE_UNAVAILABLE", "down");
    });
    expect(await submit(job("a"), job("b"), job("c"))).toEqual(["down", "down", "down"]);
    expect(runs).toEqual(["a b c", "a"]);
  });

  it("turns away a job that was cancelled while it waited, before and after a failed batch", async () => {
    const before = new AbortController();
    const after = new AbortController();
    const { runs, submit } = queueOf(async (jobs, call) => {
      if (call === 1) {
        after.abort();
        throw new Error("constraint");
      }
      return done(jobs);
    });
    before.abort();
    const outcomes = await submit(
      job("a"),
      job("before", { signal: before.signal }),
      job("after", { signal: after.signal }),
    );
    const cancelled = "the call was cancelled before it was written";
    expect(outcomes).toEqual(["a done", cancelled, cancelled]);
    expect(runs).toEqual(["a after", "a"]);
  });

  it("is idle only when everything has its outcome", async () => {
    const { queue, submit } = queueOf(async (jobs) => {
      await nextTurn();
      return done(jobs);
    });
    let settled = 0;
    for (let count = 0; count < 10; count++) void submit(job(String(count))).then(() => settled++);
    await queue.idle();
    expect(settled).toBe(10);
    await queue.idle();
  });
});
