import { groupBy } from "../../storage/group-by.js";
import type { EmbeddingJob } from "../../storage/recall/embedding-jobs.js";
import type { SearchStore } from "../../storage/recall/search-store.js";
import { withoutSpeaker } from "../documents/text-cues.js";
import { readTexts } from "../search/read-texts.js";

/** What of documents is embedded: what is said, without the name of who says it. Those that are gone are missing. */
export async function documentTexts(
  store: SearchStore,
  jobs: readonly EmbeddingJob[],
): Promise<ReadonlyMap<number, string>> {
  const texts = new Map<number, string>();
  for (const [tenantId, some] of groupBy(jobs, (job) => job.tenantId)) {
    const rows = await store.documents(
      tenantId,
      some.map(({ documentId }) => documentId),
    );
    const found = await readTexts(store, tenantId, rows);
    for (const { id, speaker } of rows) {
      const text = found.get(id)?.text;
      if (text !== undefined) texts.set(id, speaker === "" ? text : withoutSpeaker(text));
    }
  }
  return texts;
}
