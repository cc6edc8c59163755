import { afterAll, describe, expect, test } from "vitest";
import { bothDatabases } from "../assembly/both-databases.js";
import { isolation, wordEmbedder } from "../recall/isolation/searches.js";
import { startPostgres } from "../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());
const searches = Number(process.env.QUIRE_ISOLATED_SEARCHES ?? 3_000);
const seed = Number(process.env.QUIRE_ISOLATION_SEED ?? 11);

describe.each(bothDatabases(postgres))("isolation: $name", ({ name, isMissing, open }) => {
  test(`${searches} searches show nothing that their asker may not read`, async () => {
    if (isMissing) return;
    const { clock, run } = isolation(seed);
    const seen = await run(await open({}, { clock, embedder: wordEmbedder }), searches);
    console.log(JSON.stringify({ database: name, ...seen }));
    expect(seen.forGone).toBeGreaterThan(searches / 20);
    expect(seen.whole).toBeGreaterThan(searches / 2);
  });
});
