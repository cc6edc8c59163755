const longestRun = 64;

/**
 * Rows in runs of 64, then of 32, 16 and so on. The Prisma client keeps a plan for every number of rows that it was given to write at
 * once, and it is as large as they are many: so there are seven of them, and none is large.
 */
export function* rowRuns<Row>(rows: readonly Row[]): Generator<Row[]> {
  let length = longestRun;
  for (let at = 0; at < rows.length; at += length) {
    while (length > rows.length - at) length /= 2;
    yield rows.slice(at, at + length);
  }
}
