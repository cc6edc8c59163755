/** Runs work that is done in steps to its end, without a break. */
export function finishSteps<Result>(steps: Generator<undefined, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
