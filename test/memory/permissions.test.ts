import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { openTestQuire } from "../assembly/engine.js";
import { refusal } from "../in-process/quire-fixture.js";
import {
  asEntropy,
  asFlux,
  asHuman,
  asPartner,
  asSystem,
  compositeOf,
  field,
  mapOf,
  named,
  op,
  putBlock,
  setText,
  textNow,
  textOf,
} from "./memory-quire.js";

let quire: Quire;
beforeAll(async () => {
  quire = await openTestQuire();
});
afterAll(() => quire.close());

const actors = { agent: asEntropy, human: asHuman, partner: asPartner, system: asSystem } as const;

/** What each permission lets whom do: nothing, append, write, or everything. */
const table = {
  READ_ONLY: { agent: "none", human: "none", partner: "none", system: "admin" },
  PARTNER: { agent: "none", human: "none", partner: "admin", system: "admin" },
  HUMAN: { agent: "none", human: "write", partner: "admin", system: "admin" },
  APPEND: { agent: "append", human: "append", partner: "append", system: "admin" },
  READ_WRITE: { agent: "write", human: "write", partner: "admin", system: "admin" },
  ADMIN: { agent: "admin", human: "admin", partner: "admin", system: "admin" },
} as const;
const order = ["none", "append", "write", "admin"];

let count = 0;
async function blockWith(permission: keyof typeof table): Promise<string> {
  const label = `b${++count}`;
  await putBlock(quire, label, textOf, [setText("start")], { permission: `BLOCK_PERMISSION_${permission}` });
  return label;
}

type Actor = (typeof actors)[keyof typeof actors] | typeof asFlux;

/** Every way to change a block, and the right that it needs. */
const ways: readonly (readonly [string, string, (label: string, actor: Actor) => Promise<unknown>])[] = [
  ["append_text", "append", (label, actor) => update(label, actor, op("appendText", { text: "x" }))],
  [
    "insert_text at the end",
    "append",
    (label, actor) => update(label, actor, op("insertText", { text: "x", afterLine: 1_000 })),
  ],
  [
    "insert_text before that",
    "write",
    (label, actor) => update(label, actor, op("insertText", { text: "x", afterLine: 0 })),
  ],
  ["set_text", "write", (label, actor) => update(label, actor, setText("x"))],
  [
    "replace_text",
    "write",
    (label, actor) => update(label, actor, op("replaceText", { oldText: "start", newText: "", once: false })),
  ],
  [
    "restore",
    "write",
    (label, actor) => quire.memory.restoreBlock({ block: named(label), actor, revision: 1 }),
  ],
  [
    "pin",
    "write",
    (label, actor) => quire.memory.configureBlock({ block: named(label), actor, pinned: true }),
  ],
  [
    "give a permission",
    "admin",
    (label, actor) =>
      quire.memory.configureBlock({ block: named(label), actor, permission: "BLOCK_PERMISSION_ADMIN" }),
  ],
  [
    "limit",
    "admin",
    (label, actor) => quire.memory.configureBlock({ block: named(label), actor, charLimit: 9 }),
  ],
  [
    "share",
    "admin",
    (label, actor) => quire.memory.shareBlock({ block: named(label), actor, agent: "arch" }),
  ],
  ["delete", "admin", (label, actor) => quire.memory.deleteBlock({ block: named(label), actor })],
];

function update(label: string, actor: Actor, operation: object) {
  return quire.memory.updateBlock({ block: named(label), actor, operations: [operation] as never });
}

describe("permissions: every permission, actor and change", () => {
  for (const permission of Object.keys(table) as (keyof typeof table)[]) {
    for (const who of Object.keys(actors) as (keyof typeof actors)[]) {
      test(`${permission} and ${who}: ${table[permission][who]}`, async () => {
        const right = table[permission][who];
        for (const [name, needs, act] of ways) {
          const label = await blockWith(permission);
          const call = act(label, actors[who]);
          if (order.indexOf(right) >= order.indexOf(needs)) {
            await call;
            continue;
          }
          const error = await refusal(call);
          expect([name, error.reason, error.metadata.needs, error.metadata.actor]).toEqual([
            name,
            "BLOCK_NOT_ALLOWED",
            needs,
            who,
          ]);
          expect(await textNow(quire, label)).toBe("start");
        }
      });
    }
  }
});

describe("permissions: read-only parts", () => {
  test("a read-only field is the system's, the others are not", async () => {
    const schema = mapOf(field("status", "TEXT", { readOnly: true }), field("mood", "TEXT"));
    await putBlock(quire, "fields", schema, [op("setField", { field: "status", valueJson: '"active"' })]);
    const set = (name: string, actor: Actor) =>
      update("fields", actor, op("setField", { field: name, valueJson: '"x"' }));
    for (const actor of [asEntropy, asHuman, asPartner]) {
      const error = await refusal(set("status", actor));
      expect([error.reason, error.metadata.field]).toEqual(["BLOCK_NOT_ALLOWED", "status"]);
      await set("mood", actor);
    }
    expect(await textNow(quire, "fields")).toBe("status [read-only]: active\nmood: x");
    await set("status", asSystem);
    // To restore would change what is read-only.
    const back = { block: named("fields"), revision: 1 };
    expect((await refusal(quire.memory.restoreBlock({ ...back, actor: asPartner }))).metadata.field).toBe(
      "status",
    );
    await quire.memory.restoreBlock({ ...back, actor: asSystem });
    expect(await textNow(quire, "fields")).toBe("status [read-only]: active");
  });

  test("a read-only section is the system's, and a batch that touches it is refused whole", async () => {
    const text = { $case: "text" as const, value: {} };
    const schema = compositeOf(
      { name: "notes", schema: text },
      { name: "diagnostics", readOnly: true, schema: text },
    );
    await putBlock(quire, "sections", schema);
    const error = await refusal(
      quire.memory.updateBlock({
        block: named("sections"),
        actor: asEntropy,
        operations: [setText("x", "notes"), setText("y", "diagnostics")] as never,
      }),
    );
    expect(error.metadata).toMatchObject({ section: "diagnostics" });
    expect(await textNow(quire, "sections")).toBe("=== notes ===\n\n=== diagnostics [read-only] ===");
    await update("sections", asSystem, setText("y", "diagnostics"));
  });
});

describe("permissions: shares", () => {
  test("an agent sees and changes what is shared with it, as far as both permissions go", async () => {
    await putBlock(quire, "shared", textOf, [setText("start")]);
    const block = named("shared");
    expect((await refusal(quire.memory.getBlock({ block, actor: asFlux }))).reason).toBe("BLOCK_NOT_FOUND");
    expect((await refusal(update("shared", asFlux, setText("x")))).reason).toBe("BLOCK_NOT_FOUND");
    await quire.memory.shareBlock({ block, agent: "flux", permission: "BLOCK_PERMISSION_APPEND" });
    const { block: seen } = await quire.memory.getBlock({ block, actor: asFlux });
    expect([seen!.shared, seen!.permission]).toEqual([true, "BLOCK_PERMISSION_APPEND"]);
    expect(seen!.rendered).toBe(
      '<block:shared permission="Append" shared_from="entropy">\nstart\n</block:shared>',
    );
    await update("shared", asFlux, op("appendText", { text: "+" }));
    expect((await refusal(update("shared", asFlux, setText("x")))).reason).toBe("BLOCK_NOT_ALLOWED");
    await quire.memory.shareBlock({ block, agent: "flux", permission: "BLOCK_PERMISSION_ADMIN" });
    await update("shared", asFlux, setText("mine"));
    await quire.memory.configureBlock({ block, permission: "BLOCK_PERMISSION_READ_ONLY" });
    expect((await refusal(update("shared", asFlux, setText("x")))).metadata.permission).toBe("ReadOnly");
    const { shares } = await quire.memory.listBlockShares({ block });
    expect(shares.map(({ agent }) => agent)).toEqual(["flux"]);
    await quire.memory.unshareBlock({ block, agent: "flux", actor: asFlux });
    expect((await refusal(quire.memory.getBlock({ block, actor: asFlux }))).reason).toBe("BLOCK_NOT_FOUND");
    expect((await refusal(quire.memory.unshareBlock({ block, agent: "flux" }))).reason).toBe(
      "SHARE_NOT_FOUND",
    );
  });

  test("a block of a team is for the agents that it is shared with, and for people", async () => {
    const block = { owner: { kind: "OWNER_KIND_TEAM" as const, name: "ops" }, label: "runbook" };
    expect((await refusal(quire.memory.createBlock({ block, actor: asEntropy }))).reason).toBe(
      "BLOCK_NOT_ALLOWED",
    );
    await quire.memory.createBlock({ block, actor: asHuman });
    expect((await refusal(quire.memory.getBlock({ block, actor: asEntropy }))).reason).toBe(
      "BLOCK_NOT_FOUND",
    );
    await quire.memory.shareBlock({ block, agent: "entropy", permission: "BLOCK_PERMISSION_READ_WRITE" });
    const { block: seen } = await quire.memory.updateBlock({
      block,
      actor: asEntropy,
      operations: [setText("restart it")] as never,
    });
    expect(seen!.rendered).toContain('shared_from="team ops"');
  });

  test("an agent has to say which one it is", async () => {
    const error = await refusal(
      quire.memory.getBlock({ block: named("x"), actor: { kind: "ACTOR_KIND_AGENT" } }),
    );
    expect(error.violations.map(({ field: name }) => name)).toEqual(["actor.name"]);
  });
});
