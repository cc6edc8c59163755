import { afterAll, describe, test } from "vitest";
import { bothDatabases } from "../assembly/both-databases.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { type Postgres, startPostgres } from "../support/postgres.js";
import { checkContested, createContested, editWords, syncWords, type Written } from "./concurrent-writers.js";

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

describe("many writers of one block lose no edit", () => {
  test.each(bothDatabases(postgres))("$name, two engines", async ({ isMissing, open }) => {
    if (isMissing) return;
    const one = await open();
    const two = await openedEngine({ database: one.config.database });
    await createContested(one.quire);
    const written: Written[] = Array.from({ length: 6 }, () => ({ words: [] }));
    const engines = [one.quire, two.quire];
    await Promise.all(
      written.map((mine, writer) =>
        (writer < 4 ? editWords : syncWords)(engines[writer % 2]!, writer, writer < 4 ? 40 : 10, mine),
      ),
    );
    await checkContested(engines, written);
  });
});
