/** So many rows through Prisma take some ten milliseconds. */
const sliceRows = 100;

/**
 * A long list in slices, each read after the last row of the one before, with a turn of the event loop between them: SQLite
 * answers in this thread, and a page of a thousand rows at once would hold up everybody.
 */
export async function inSlices<Row>(
  limit: number,
  read: (limit: number, last: Row | undefined) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const wanted = Math.min(sliceRows, limit - rows.length);
    const slice = await read(wanted, rows.at(-1));
    rows.push(...slice);
    if (slice.length < wanted || rows.length >= limit) return rows;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
