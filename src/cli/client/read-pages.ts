const maxPageSize = 1_000;

interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
}

/** Reads a list page by page: so many of its items at most, and whether there are more. */
export async function readPages<Page extends { readonly nextPageToken: string }, T>(
  limit: number,
  read: (request: PageRequest) => Promise<Page>,
  itemsOf: (page: Page) => readonly T[],
): Promise<{ readonly found: readonly T[]; readonly more: boolean }> {
  const found: T[] = [];
  let pageToken = "";
  do {
    const page = await read({ pageSize: Math.min(limit - found.length, maxPageSize), pageToken });
    found.push(...itemsOf(page));
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && found.length < limit);
  return { found, more: pageToken !== "" };
}
