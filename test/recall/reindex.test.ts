import { afterAll, describe, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { reindex } from "../../src/recall/indexing/reindex.js";
import { bothDatabases } from "../assembly/both-databases.js";
import { asEntropy, entropy, putBlock, setText, textOf } from "../memory/memory-quire.js";
import { assistant, user } from "../support/messages.js";
import { type Postgres, startPostgres } from "../support/postgres.js";

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

const queries = ["tulips", "which flowers?", "ticket ABC-7", "shed water", "answer 13", "北京"];

/** What searches find, in their order, and by which words. */
async function answers(quire: Quire) {
  const all = [];
  for (const query of queries)
    for (const more of [{}, { actor: asEntropy }, { session: "talk" }])
      all.push(
        (await quire.memory.search({ query, limit: 50, ...more })).results.map(({ id, snippet, match }) => [
          id,
          snippet,
          match!.terms,
          match!.byNeighbours,
          match!.answersQuestion,
        ]),
      );
  return all;
}

async function talk(quire: Quire, turns: number): Promise<void> {
  await quire.ledger.createSession({ label: "talk", defaults: { capsule: "entropy" } });
  for (let turn = 0; turn < turns; turn++)
    await quire.ledger.recordTurn({
      session: "talk",
      messages: [
        user(`Which flowers grow in bed ${turn}?`),
        assistant(`Tulips, answer ${turn}, ticket ABC-${turn}.`),
      ],
    });
}

describe.each(bothDatabases(postgres))("reindex: $name", ({ isMissing, open }) => {
  test("beside an engine that searches and writes: the same searches find the same, and nothing is lost or comes back", async () => {
    if (isMissing) return;
    const { quire, engine } = await open();
    await putBlock(quire, "garden", textOf, [setText("Water the tulips near the shed. 北京")]);
    await quire.memory.insertArchival({ owner: entropy, content: "Ann: the tulips are behind the shed." });
    const { entry } = await quire.memory.insertArchival({ owner: entropy, content: "tulips, erased" });
    await talk(quire, 20);
    await answers(quire);
    await quire.memory.deleteArchival({ id: entry!.id });
    const before = await answers(quire);
    const progress: [number, number][] = [];
    const texts = await reindex(engine.database, (done, total) => progress.push([done, total]));
    expect(texts).toBe(22);
    expect(progress[0]).toEqual([0, 22]);
    expect(progress.at(-1)).toEqual([22, 22]);
    expect(await answers(quire)).toEqual(before);
    await Promise.all([
      reindex(engine.database, () => undefined),
      quire.memory.insertArchival({ owner: entropy, content: "A zeppelin, meanwhile." }),
      answers(quire),
    ]);
    const { results, pending } = await quire.memory.search({ query: "zeppelin" });
    expect([results.length, pending]).toEqual([1, 0]);
    expect(await engine.recall.store.countDocuments()).toBe(43);
  });
});
