import { fromMicroseconds } from "../../domain/clock.js";
import { ActorKind } from "../../domain/memory.js";
import type { RecallDeps } from "../deps.js";
import { defaultSimilarity, type SearchHit, search } from "../search/search.js";
import { roleName, shownText } from "./memory-block.js";

/** The search that a model makes itself: all that its agent may read, as texts for it. */
export async function searchForAgent(
  deps: RecallDeps,
  tenantId: string,
  { agent, query, limit }: { readonly agent: string; readonly query: string; readonly limit: number },
  signal?: AbortSignal,
) {
  const { hits, note, pending } = await search(
    deps,
    tenantId,
    {
      query,
      actor: { kind: ActorKind.AGENT, name: agent },
      kinds: new Set(["block", "archival", "message"]),
      mode: "auto",
      limit,
      similarityThreshold: defaultSimilarity,
    },
    signal,
  );
  const waiting = pending > 0 ? `${pending} texts were not searched: they still wait to be indexed` : "";
  const found = hits.map((hit) => ({
    from: originOf(hit),
    speaker: hit.document.speaker,
    time: fromMicroseconds(hit.document.timeUs),
    text: shownText(hit),
  }));
  return { found, note: [note, waiting].filter((words) => words !== "").join("; ") };
}

function originOf({ partition, document, text }: SearchHit): string {
  if (partition.kind === "block") return `block ${text.label}`;
  return partition.kind === "archival" ? "archival memory" : `message of ${roleName(document.role)}`;
}
