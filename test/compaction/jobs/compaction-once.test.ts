import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { bothDatabases } from "../../assembly/both-databases.js";
import { bytesOf } from "../../assembly/fold.js";
import { assembled, compactionsOf, longSession, tightContext } from "../../assembly/long-session.js";
import { openedEngine } from "../../assembly/opened-engine.js";
import { findImpossibleRows } from "../../model/check-tables.js";
import { startModelServer } from "../../support/model-server.js";
import { startPostgres } from "../../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** A model that makes summaries, and the settings to reach it. */
async function summarizingModel() {
  const model = await startModelServer(() => ({ text: "They looked for a parcel." }));
  onTestFinished(() => model.close());
  const flags = { summarizerOpenaiUrl: model.baseUrl("openai"), summarizerOpenaiModel: "gpt-small" };
  return { model, flags };
}

describe.each(bothDatabases(postgres))("on $name", ({ isMissing, open }) => {
  const test = it.skipIf(isMissing);

  test("50 assemblies at once make one compaction, ask for one summary, and all have the same history", async () => {
    const { model, flags } = await summarizingModel();
    const { quire, engine } = await open(flags);
    await longSession(quire, "busy", 16);
    const context = tightContext("busy", 1_000, { summarizers: { names: ["openai"] } });
    const all = await Promise.all(
      Array.from({ length: 50 }, () => assembled(quire.assembly.assemble({ context }))),
    );
    const [made, ...others] = await compactionsOf(quire, "busy");
    expect(others).toEqual([]);
    expect(new Set(all.map(({ layer }) => layer.compactionId))).toEqual(new Set([made!.id]));
    expect(new Set(all.map(({ history }) => bytesOf(history))).size).toBe(1);
    expect(model.requests).toHaveLength(1);
    expect(await engine.database.sqlReader.query("SELECT id FROM compactions", [])).toHaveLength(1);
  });

  test("an assembly that is about to compact what another has compacted meanwhile uses that, and asks nobody", async () => {
    const { model, flags } = await summarizingModel();
    const { quire } = await open(flags);
    await longSession(quire, "busy", 16);
    const context = tightContext("busy", 1_000, { summarizers: { names: ["openai"] } });
    const late = quire.assembly.assemble({ context })[Symbol.asyncIterator]();
    let event = await late.next();
    while (event.value?.event?.$case !== "compaction") event = await late.next();
    expect(event.value.event.value.event.$case).toBe("started");
    const { finished } = await assembled(quire.assembly.assemble({ context }));
    event = await late.next();
    expect(event.value.event.value.event).toEqual({ $case: "finished", value: finished });
    await late.return?.();
    expect(model.requests).toHaveLength(1);
    expect(await compactionsOf(quire, "busy")).toEqual([finished]);
  });
});

describe.skipIf(postgres === undefined)("two engines over one PostgreSQL", () => {
  it("make one compaction of 50 assemblies at once, and all of them succeed", async () => {
    const database = await postgres!.createDatabase();
    const [one, other] = [await openedEngine({ database }), await openedEngine({ database })];
    for (let round = 0; round < 5; round++) {
      const session = `busy-${round}`;
      await longSession(one.quire, session, 16);
      const context = tightContext(session, 1_000);
      const all = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          assembled((index % 2 === 0 ? one : other).quire.assembly.assemble({ context })),
        ),
      );
      const [made, ...others] = await compactionsOf(other.quire, session);
      expect(others).toEqual([]);
      expect(new Set(all.map(({ layer }) => layer.compactionId))).toEqual(new Set([made!.id]));
    }
    expect(await findImpossibleRows(one.engine.database)).toEqual([]);
  });
});
