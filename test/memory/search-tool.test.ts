import { describe, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { testQuire } from "../in-process/quire-fixture.js";
import { assistant, user } from "../support/messages.js";
import { entropy, named, putBlock, setText, textOf } from "./memory-quire.js";

interface Found {
  readonly results: readonly { readonly from: string; readonly text: string; readonly time: string }[];
}

function call(quire: Quire, agent: string, args: object) {
  return quire.memory.executeTool({ agent, name: "memory_search", argumentsJson: JSON.stringify(args) });
}

async function found(quire: Quire, agent: string, args: object): Promise<Found["results"]> {
  const { content, isError } = await call(quire, agent, args);
  expect(isError).toBe(false);
  return (JSON.parse(content) as Found).results;
}

describe("memory_search", () => {
  test("is among the tools, with a schema that asks for a query only", async () => {
    const quire = await testQuire();
    const { tools } = await quire.memory.listMemoryTools({});
    const tool = tools.find(({ name }) => name === "memory_search")!;
    const schema = JSON.parse(tool.inputSchemaJson) as { properties: object; required: readonly string[] };
    expect(Object.keys(schema.properties)).toEqual(["query", "limit"]);
    expect(schema.required).toEqual(["query"]);
  });

  test("finds blocks, archival entries and what was said, and says where each is from", async () => {
    const quire = await testQuire();
    await putBlock(quire, "garden", textOf, [setText("The tulips need water on Mondays.")]);
    await quire.memory.executeTool({
      agent: "entropy",
      name: "archival_memory_insert",
      argumentsJson: JSON.stringify({ content: 'Ann: The tulips are "behind" the shed.' }),
    });
    await quire.ledger.createSession({ label: "talk", defaults: { capsule: "entropy" } });
    await quire.ledger.recordTurn({
      session: "talk",
      messages: [user("I planted tulips today."), assistant("Lovely.")],
    });
    const results = await found(quire, "entropy", { query: "tulips" });
    expect(results.map(({ from }) => from)).toEqual(
      expect.arrayContaining(["block garden", "archival memory", "message of user"]),
    );
    expect(results.find(({ from }) => from === "archival memory")).toMatchObject({
      speaker: "Ann",
      text: 'Ann: The tulips are "behind" the shed.',
    });
    expect(await found(quire, "entropy", { query: "tulips", limit: 1 })).toHaveLength(1);
    expect(await found(quire, "entropy", { query: "zeppelin" })).toEqual([]);
  });

  test("has the rights of its agent, as they are at the moment", async () => {
    const quire = await testQuire();
    await putBlock(quire, "plans", textOf, [setText("Sail to Zanzibar.")]);
    await quire.memory.insertArchival({ owner: entropy, content: "Zanzibar has cloves." });
    const asked = { query: "Zanzibar" };
    expect(await found(quire, "flux", asked)).toEqual([]);
    await quire.memory.shareBlock({
      block: named("plans"),
      agent: "flux",
      permission: "BLOCK_PERMISSION_READ_ONLY",
    });
    expect((await found(quire, "flux", asked)).map(({ text }) => text)).toEqual(["Sail to Zanzibar."]);
    await quire.memory.unshareBlock({ block: named("plans"), agent: "flux" });
    expect(await found(quire, "flux", asked)).toEqual([]);
    expect(await found(quire, "entropy", asked)).toHaveLength(2);
  });

  test.each([
    [{}, "query"],
    [{ query: "" }, "query"],
    [{ query: 7 }, "query"],
    [{ query: "x", limit: 0 }, "limit"],
    [{ query: "x", limit: 1.5 }, "limit"],
    [{ query: "x", limit: "many" }, "limit"],
  ])("tells the model what is wrong with %j", async (args, argument) => {
    const { content, isError } = await call(await testQuire(), "entropy", args);
    expect([isError, content]).toEqual([true, expect.stringContaining(`the argument ${argument} must be`)]);
  });
});
