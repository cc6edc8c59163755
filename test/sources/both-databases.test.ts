import { afterAll, expect, test } from "vitest";
import { SeriesKind, SourceItemKind } from "../../src/domain/source-item.js";
import { exactModel, putAgent } from "../assembly/agent.js";
import { bothDatabases } from "../assembly/both-databases.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { contextText } from "./context-text.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

test.each(
  bothDatabases(postgres),
)("$name: what is written is in the next context, counted, listed and deleted", async ({
  open,
  isMissing,
}) => {
  if (isMissing) return;
  const { quire } = await open();
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s" });
  await quire.ledger.recordTurn({
    session: "s",
    messages: [user("x"), toolCalls("a", "b", "c"), toolResults("a", "b", "c"), assistant("y")],
  });
  const put = (text: string) =>
    quire.sources.putItems({ agent: "atlas", items: [{ item: { $case: "preference", value: { text } } }] });
  await Promise.all([put("one"), put("two"), put("three")]);
  await quire.sources.recordObservations({
    observations: [{ kind: SeriesKind.VALUE, name: "BTC", value: 5, unit: "$" }],
  });
  const build = async () => {
    const event = { content: [{ content: { $case: "text" as const, value: { text: "Hello." } } }] };
    const context = { session: "s", capsule: "atlas", model: exactModel, event };
    return contextText((await quire.assembly.buildContext({ context })).context!.currentMessage);
  };
  const text = await build();
  expect(text).toMatch(/\[SELF-MODEL\]\nStrengths: \w+\(100%\)\nUser preferences: one, three, two\n/);
  expect(text).toContain("[TEMPORAL INSIGHTS]\nBTC: $5\n");
  await quire.sources.putSource({
    source: { name: "temporal_insights", rule: { name: "x", enabled: false } },
  });
  await quire.sources.deleteItems({ agent: "atlas", kind: SourceItemKind.PREFERENCE });
  expect(await build()).not.toContain("[");
  expect((await quire.sources.listObservations({})).observations).toHaveLength(1);
  expect((await quire.sources.listItems({ agent: "atlas" })).items).toEqual([]);
});
