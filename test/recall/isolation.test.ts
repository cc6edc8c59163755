import { afterAll, describe, expect, test } from "vitest";
import { bothDatabases } from "../assembly/both-databases.js";
import { startPostgres } from "../support/postgres.js";
import { isolation, wordEmbedder } from "./isolation/searches.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.each(bothDatabases(postgres))("isolation: $name", ({ isMissing, open }) => {
  test("searches show what their asker may read as it is now, and nothing else", async () => {
    if (isMissing) return;
    const { clock, run } = isolation(7);
    const seen = await run(await open({}, { clock, embedder: wordEmbedder }), 250);
    expect(seen.results).toBeGreaterThan(300);
    expect(seen.forGone).toBeGreaterThan(10);
    expect(seen.byMeaning).toBeGreaterThan(30);
    expect(seen.whole).toBeGreaterThan(120);
    expect(seen.refused).toBeGreaterThan(5);
  });
});
