import { systemTimers } from "../../domain/clock.js";
import type { Database } from "../../storage/database.js";
import { SearchStore } from "../../storage/recall/search-store.js";
import { Indexer } from "./indexer.js";

/**
 * Makes the index of a database anew, whoever serves it meanwhile, and gives the number of texts. Where there is an embedder the
 * new documents are put on its list; its server finds them there.
 */
export async function reindex(
  database: Database,
  onProgress: (done: number, total: number) => void,
): Promise<number> {
  const store = new SearchStore(database, await SearchStore.hasEmbedder(database));
  let failure: { readonly error: unknown } | undefined;
  const indexer = new Indexer(store, systemTimers, (error) => {
    failure ??= { error };
  });
  try {
    const texts = await indexer.rebuild(onProgress);
    if (failure) throw failure.error;
    return texts;
  } finally {
    await indexer.close();
  }
}
