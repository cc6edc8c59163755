import type { Engine } from "../../../src/engine.js";
import type { Quire } from "../../../src/index.js";
import type { Embedder } from "../../../src/recall/embedders/embedder.js";
import { Random } from "../../model/random.js";
import { wordVector } from "../../support/embedding-server.js";
import { type Asked, agents, type Content, markOf, World } from "./world.js";
import { speakers, topics, Writes } from "./writes.js";

const contents: readonly Content[] = [
  "SEARCH_CONTENT_BLOCK",
  "SEARCH_CONTENT_ARCHIVAL",
  "SEARCH_CONTENT_MESSAGE",
];
const modes = {
  SEARCH_MODE_KEYWORD: 4,
  SEARCH_MODE_AUTO: 1,
  SEARCH_MODE_HYBRID: 2,
  SEARCH_MODE_VECTOR: 2,
} as const;
const others = ["ACTOR_KIND_HUMAN", "ACTOR_KIND_PARTNER", "ACTOR_KIND_SYSTEM"] as const;
const limit = 200;
const searchesPerWrite = 5;

/** Makes vectors of words in this process. */
export const wordEmbedder: Embedder = {
  id: "words",
  embed: async (texts) =>
    texts.map((text) => {
      const vector = wordVector(text);
      const length = Math.hypot(...vector);
      return Float32Array.from(vector, (value) => value / length);
    }),
};

export interface Seen {
  searches: number;
  writes: number;
  results: number;
  /** Of texts that are gone, or that somebody may not read any more. */
  forGone: number;
  byMeaning: number;
  /** Searches whose results were compared with all that they had to find. */
  whole: number;
  refused: number;
}

/** The engine's own clock is that of the writes. */
export interface Isolation {
  readonly clock: { now(): number };
  run(opened: { readonly quire: Quire; readonly engine: Engine }, searches: number): Promise<Seen>;
}

/**
 * Searches by many askers while texts are written, shared, revoked and erased, each compared with a model that knows only what was
 * done. Throws with the seed and the search where one shows what its asker may not read, or lacks what it had to find.
 */
export function isolation(seed: number): Isolation {
  const random = new Random(seed);
  const world = new World(random);
  let writes: Writes | undefined;
  return {
    clock: { now: () => writes?.nowMs ?? Date.parse("2024-01-01T00:00:00Z") },
    async run({ quire, engine }, searches) {
      writes = new Writes(quire, world);
      const seen: Seen = {
        searches: 0,
        writes: 0,
        results: 0,
        forGone: 0,
        byMeaning: 0,
        whole: 0,
        refused: 0,
      };
      while (seen.searches < searches) {
        await writes.one();
        if (++seen.writes % 20 === 0) await engine.recall.embedding?.worker.idle();
        for (let at = 0; at < searchesPerWrite; at++)
          await searchOnce(quire, world, writes.nowMs, seen, seed);
      }
      return seen;
    },
  };
}

async function searchOnce(
  quire: Quire,
  world: World,
  nowMs: number,
  seen: Seen,
  seed: number,
): Promise<void> {
  const { random, sessions } = world;
  const agent = random.chance(0.75) ? random.pick(agents) : undefined;
  const session = sessions.size > 0 && random.chance(0.2) ? random.pick([...sessions.keys()]) : undefined;
  const asked: Asked = {
    query: world.query(),
    agent,
    owner: random.chance(0.25)
      ? {
          kind: random.pick(["OWNER_KIND_AGENT", "OWNER_KIND_PERSON", "OWNER_KIND_TEAM"] as const),
          name: random.pick(agents),
        }
      : undefined,
    contents: random.chance(0.3) ? contents.filter(() => random.chance(0.5)) : [],
    session,
    afterMs: random.chance(0.1) ? nowMs - random.below(200) * 60_000 : undefined,
    beforeMs: random.chance(0.1) ? nowMs - random.below(200) * 60_000 : undefined,
    speaker: random.chance(0.1) ? random.pick(speakers) : "",
    topic: random.chance(0.1) ? random.pick(topics) : "",
  };
  const mode = random.weighted(modes);
  const where = `seed ${seed}, search ${seen.searches}: ${JSON.stringify({ ...asked, mode })}`;
  const search = quire.memory.search({
    query: asked.query,
    actor: agent ? { kind: "ACTOR_KIND_AGENT", name: agent } : { kind: random.pick(others), name: "ada" },
    contents: asked.contents,
    mode,
    limit,
    similarityThreshold: -1,
    speaker: asked.speaker,
    ...(asked.owner ? { owner: asked.owner } : {}),
    ...(session ? { session } : {}),
    ...(asked.afterMs === undefined ? {} : { after: new Date(asked.afterMs) }),
    ...(asked.beforeMs === undefined ? {} : { before: new Date(asked.beforeMs) }),
    ...(asked.topic === "" ? {} : { metadata: { topic: asked.topic } }),
  });
  seen.searches++;
  if (session !== undefined && agent !== undefined && sessions.get(session)!.agent !== agent) {
    const reason = await search.then(
      () => "answered",
      (error: { readonly reason?: string }) => error.reason,
    );
    if (reason !== "SESSION_NOT_FOUND") throw new Error(`a session of another agent is ${reason}; ${where}`);
    seen.refused++;
    return;
  }
  const { results, mode: used } = await search;
  const allowed = world.allowed(asked);
  const byKey = new Map(allowed.map((text) => [text.key, text]));
  for (const { id, turnId, messageIndex, snippet, content, owner } of results) {
    const text = byKey.get(turnId === "" ? id : `${turnId}/${messageIndex}`);
    if (!text) throw new Error(`${content} of ${JSON.stringify(owner)} is shown: ${snippet}; ${where}`);
    if (snippet !== text.words) throw new Error(`${snippet} is shown, and not ${text.words}; ${where}`);
  }
  seen.results += results.length;
  if (used === "SEARCH_MODE_VECTOR" || used === "SEARCH_MODE_HYBRID") seen.byMeaning++;
  if (world.gone.some((words) => markOf(words) === asked.query)) seen.forGone++;
  // With more than that, others may rank before it.
  if (allowed.length > limit || used === "SEARCH_MODE_VECTOR") return;
  const found = new Set(
    results.map(({ id, turnId, messageIndex }) => (turnId === "" ? id : `${turnId}/${messageIndex}`)),
  );
  const missing = world.mustFind(asked, allowed).filter(({ key }) => !found.has(key));
  if (missing.length > 0) throw new Error(`${JSON.stringify(missing)} is not found; ${where}`);
  seen.whole++;
}
