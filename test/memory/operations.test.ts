import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Operation } from "../../src/domain/memory.js";
import type { Quire } from "../../src/index.js";
import { openTestQuire } from "../assembly/engine.js";
import { refusal } from "../in-process/quire-fixture.js";
import {
  compositeOf,
  field,
  listOf,
  logOf,
  mapOf,
  named,
  op,
  putBlock,
  setText,
  textOf,
} from "./memory-quire.js";

let quire: Quire;
beforeAll(async () => {
  quire = await openTestQuire();
});
afterAll(() => quire.close());

const map = mapOf(
  field("name", "TEXT", { required: true }),
  field("age", "NUMBER"),
  field("active", "BOOLEAN"),
  field("tags", "LIST"),
  field("seen", "TIMESTAMP"),
  field("score", "COUNTER"),
);
const schemas = { text: textOf, map, list: listOf(), log: logOf() } as const;

/** One of each operation. */
const operations: readonly Operation[] = [
  { $case: "setText", value: { text: "a" } },
  { $case: "appendText", value: { text: "a" } },
  { $case: "replaceText", value: { oldText: "start", newText: "b", once: false } },
  { $case: "insertText", value: { text: "a", afterLine: 0 } },
  { $case: "setField", value: { field: "name", valueJson: '"Ada"' } },
  { $case: "appendToField", value: { field: "tags", valueJson: '"x"' } },
  { $case: "incrementCounter", value: { field: "score", by: 2 } },
  { $case: "pushItem", value: { valueJson: '"a"' } },
  { $case: "insertItem", value: { index: 0, valueJson: '"a"' } },
  { $case: "setItem", value: { index: 0, valueJson: '"a"' } },
  { $case: "deleteItem", value: { index: 0 } },
  { $case: "appendEntry", value: { entryJson: '"a"' } },
];

const results: Readonly<Record<string, string>> = {
  setText: "a",
  appendText: "starta",
  replaceText: "b",
  insertText: "a\nstart",
  setField: "name: Ada\nscore: 0",
  appendToField: "name: start\ntags:\n- x\nscore: 0",
  incrementCounter: "name: start\nscore: 2",
  pushItem: "1. start\n2. a",
  insertItem: "1. a\n2. start",
  setItem: "1. a",
  deleteItem: "",
  appendEntry: "a\nstart",
};

const kinds = {
  text: ["setText", "appendText", "replaceText", "insertText"],
  map: ["setField", "appendToField", "incrementCounter"],
  list: ["pushItem", "insertItem", "setItem", "deleteItem"],
  log: ["appendEntry"],
} as const;

const starts = {
  text: setText("start"),
  map: op("setField", { field: "name", valueJson: '"start"' }),
  list: op("pushItem", { valueJson: '"start"' }),
  log: op("appendEntry", { entryJson: '"start"' }),
} as const;

let count = 0;
const freshLabel = () => `b${++count}`;

describe("operations: each schema has its own, and refuses all others", () => {
  for (const kind of Object.keys(schemas) as (keyof typeof schemas)[]) {
    for (const where of ["block", "section"] as const) {
      test.each(operations)(`${kind} as a ${where}: $$case`, async (operation) => {
        const label = freshLabel();
        const section = where === "section" ? "part" : "";
        const plain = schemas[kind].schema as never;
        const schema = where === "section" ? compositeOf({ name: "part", schema: plain }) : schemas[kind];
        const before = await putBlock(quire, label, schema, [{ ...starts[kind], section }]);
        const call = quire.memory.updateBlock({
          block: named(label),
          operations: [{ section, operation: operation as never }],
        });
        const frame = (text: string) =>
          where === "block" ? text : ["=== part ===", text].filter((part) => part !== "").join("\n\n");
        if ((kinds[kind] as readonly string[]).includes(operation.$case)) {
          const { block, results: told } = await call;
          expect(block!.text).toBe(frame(results[operation.$case]!));
          expect(block!.revision).toBe(before.revision + 1);
          expect(told).toEqual([{ matched: true, counter: operation.$case === "incrementCounter" ? 2 : 0 }]);
        } else {
          const error = await refusal(call);
          expect(error.reason).toBe("BLOCK_SCHEMA_MISMATCH");
          expect(error.metadata.field).toMatch(/^operations\[0\]\.[a-z_]+$/);
          const { block } = await quire.memory.getBlock({ block: named(label) });
          expect(block!.revision).toBe(before.revision);
        }
      });
    }
  }
});

describe("operations: values fit their fields", () => {
  const values: readonly (readonly [string, string, boolean])[] = [
    ["name", '"Ada"', true],
    ["name", "7", false],
    ["name", "null", false],
    ["age", "7.5", true],
    ["age", '"7"', false],

    ["active", "true", true],
    ["active", "1", false],
    ["tags", '["a",1]', true],
    ["tags", '"a"', false],
    ["seen", '"2026-11-17T08:00:00Z"', true],
    ["seen", '"yesterday"', false],
    ["score", "1", false],
    ["nothing", "1", false],
    ["age", "{not json", false],
    ["name", `${"[".repeat(20)}${"]".repeat(20)}`, false],
  ];
  test.each(values)("%s = %s: %s", async (name, valueJson, isFine) => {
    const label = freshLabel();
    await putBlock(quire, label, map, [starts.map]);
    const call = quire.memory.updateBlock({
      block: named(label),
      operations: [op("setField", { field: name, valueJson })] as never,
    });
    if (isFine) expect((await call).block!.revision).toBe(2);
    else expect((await refusal(call)).reason).toBe("BLOCK_SCHEMA_MISMATCH");
  });

  test("items and entries have the fields of their schema, and no others", async () => {
    const item = { fields: [field("task", "TEXT", { required: true }), field("done", "BOOLEAN")] };
    const label = freshLabel();
    await putBlock(quire, label, listOf({ item, maxItems: 2 }));
    const push = (valueJson: string) =>
      quire.memory.updateBlock({ block: named(label), operations: [op("pushItem", { valueJson })] as never });
    for (const bad of ['"x"', "{}", '{"task":1}', '{"task":"a","more":1}', '{"task":"a","__proto__":1}'])
      expect((await refusal(push(bad))).reason).toBe("BLOCK_SCHEMA_MISMATCH");
    await push('{"task":"a","done":true}');
    expect((await push('{"task":"b"}')).block!.text).toBe("[x] a\n2. b");
    const full = await refusal(push('{"task":"c"}'));
    expect([full.reason, full.metadata.limit]).toEqual(["BLOCK_LIMIT_EXCEEDED", "items"]);
  });

  test.each([
    ["insertItem", 2],
    ["setItem", 1],
    ["deleteItem", 1],
  ] as const)("%s beyond the end is refused", async (name, index) => {
    const label = freshLabel();
    await putBlock(quire, label, listOf(), [starts.list]);
    const operation = op(name, { index, valueJson: '"x"' } as never);
    const error = await refusal(
      quire.memory.updateBlock({ block: named(label), operations: [operation] as never }),
    );
    expect(error.metadata.field).toMatch(/index$/);
  });
});

describe("operations: a batch", () => {
  test("is done whole or not at all, and those after it still work", async () => {
    const label = freshLabel();
    await putBlock(quire, label, textOf, [setText("start")]);
    const update = (...all: object[]) =>
      quire.memory.updateBlock({ block: named(label), operations: all as never });
    const [bad, good, more] = await Promise.allSettled([
      update(setText("lost"), op("pushItem", { valueJson: "1" })),
      update(op("appendText", { text: " one" })),
      update(op("appendText", { text: " two" })),
    ]);
    expect([bad!.status, good!.status, more!.status]).toEqual(["rejected", "fulfilled", "fulfilled"]);
    const { block } = await quire.memory.getBlock({ block: named(label) });
    expect([block!.text, block!.revision]).toEqual(["start one two", 3]);
  });

  test("that matches nothing makes no revision, and says so", async () => {
    const label = freshLabel();
    await putBlock(quire, label, textOf, [setText("start")]);
    const { block, results: told } = await quire.memory.updateBlock({
      block: named(label),
      operations: [op("replaceText", { oldText: "zebra", newText: "", once: false })] as never,
    });
    expect([block!.revision, told[0]!.matched]).toEqual([1, false]);
  });

  test("replace refuses a text that is there twice, where it is to be there once", async () => {
    const label = freshLabel();
    await putBlock(quire, label, textOf, [setText("a b a")]);
    const operation = op("replaceText", { oldText: "a", newText: "c", once: true });
    const error = await refusal(
      quire.memory.updateBlock({ block: named(label), operations: [operation] as never }),
    );
    expect(error.metadata.field).toBe("operations[0].replace_text.old_text");
  });
});
