import { expect, test } from "vitest";
import { defaultTenantId } from "../../src/server/call/call-context.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { asFlux, asHuman, named, putBlock, setText, textOf } from "./memory-quire.js";

test("what an agent's contexts know of its blocks is read once, until one of them changes", async () => {
  const { engine, quire } = await openedEngine();
  const { reader } = engine.memory;
  for (const label of ["plan", "notes"])
    await putBlock(quire, label, textOf, [setText("one")], { type: "BLOCK_TYPE_CORE" });
  const shown = () => reader.forContext(defaultTenantId, "entropy", []);
  const told = () => reader.changesByOthers(defaultTenantId, "entropy", 0n);
  const newestBy = async () => (await told()).map(({ label, actor }) => `${label}: ${actor.kind}`);

  const first = await shown();
  await quire.memory.updateBlock({ block: named("plan"), actor: asHuman, operations: [setText("two")] });
  expect(await newestBy()).toContain("plan: ACTOR_KIND_HUMAN");
  const second = await shown();
  expect(second).not.toBe(first);
  // What is at hand is no promise.
  expect([told(), shown()]).toEqual([expect.any(Array), second]);
  expect(shown()).toBe(second);

  const news = named("news", { kind: "OWNER_KIND_TEAM", name: "desk" });
  await quire.memory.createBlock({ block: news, schema: textOf });
  await quire.memory.shareBlock({ block: news, agent: "entropy", permission: "BLOCK_PERMISSION_APPEND" });
  await quire.memory.shareBlock({ block: news, agent: "flux", permission: "BLOCK_PERMISSION_READ_WRITE" });
  await quire.memory.updateBlock({ block: news, actor: asFlux, operations: [setText("three")] });
  expect(await newestBy()).toContain("news: ACTOR_KIND_AGENT");
  expect(told()).toEqual(expect.any(Array));
});

test("another server's change is told", async () => {
  const { engine, quire, config } = await openedEngine();
  const other = await openedEngine({ database: config.database });
  await putBlock(quire, "plan", textOf, [setText("one")], { type: "BLOCK_TYPE_CORE" });
  const { reader } = engine.memory;
  const told = () => reader.changesByOthers(defaultTenantId, "entropy", 0n);
  await told();
  await other.quire.memory.updateBlock({
    block: named("plan"),
    actor: asHuman,
    operations: [setText("two")],
  });
  expect((await told()).map(({ actor }) => actor.kind)).toContain("ACTOR_KIND_HUMAN");
  const { system } = await reader.forContext(defaultTenantId, "entropy", []);
  expect(system.map(({ text }) => text)).toEqual(["two"]);
});
