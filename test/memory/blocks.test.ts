import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createQuire, type Quire } from "../../src/index.js";
import { openTestQuire } from "../assembly/engine.js";
import { refusal } from "../in-process/quire-fixture.js";
import { type Postgres, startPostgres } from "../support/postgres.js";
import {
  asEntropy,
  asFlux,
  compositeOf,
  entropy,
  field,
  listOf,
  logOf,
  mapOf,
  named,
  op,
  putBlock,
  setText,
  textNow,
  textOf,
} from "./memory-quire.js";

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

describe.each([
  ["SQLite", true],
  ["PostgreSQL", postgres !== undefined],
] as const)("blocks on %s", (name, isThere) => {
  let quire: Quire;
  beforeAll(async () => {
    if (name === "SQLite") quire = await openTestQuire();
    else if (isThere)
      quire = await createQuire({ database: await postgres!.createDatabase(), logLevel: "silent" });
  });
  afterAll(() => quire?.close());
  const when = test.skipIf(!isThere);

  when("a block is created, read, listed, changed and deleted", async () => {
    const created = await putBlock(quire, "notes", textOf, [setText("Hello")], {
      type: "BLOCK_TYPE_CORE",
      description: "What I noted",
    });
    expect(created).toMatchObject({
      label: "notes",
      revision: 1,
      charLimit: 20_000,
      chars: 5,
      pinned: false,
    });
    const { block } = await quire.memory.getBlock({ block: named("notes") });
    expect(block).toEqual({ ...created, contentJson: '"Hello"' });
    expect(block!.o200kTokens).toBe(1);
    const twice = await refusal(quire.memory.createBlock({ block: named("notes") }));
    expect(twice.reason).toBe("BLOCK_EXISTS");
    await quire.memory.configureBlock({ block: named("notes"), type: "BLOCK_TYPE_WORKING", pinned: true });
    const { blocks } = await quire.memory.listBlocks({ owner: entropy, labelPrefix: "note" });
    expect(blocks.map(({ label, type, pinned, text }) => [label, type, pinned, text])).toEqual([
      ["notes", "BLOCK_TYPE_WORKING", true, ""],
    ]);
    expect(await quire.memory.deleteBlock({ block: named("notes"), requestId: "d" })).toEqual({
      deletedRevisions: 2,
    });
    expect(await quire.memory.deleteBlock({ block: named("notes"), requestId: "d" })).toEqual({
      deletedRevisions: 2,
    });
    expect((await refusal(quire.memory.getBlock({ block: named("notes") }))).reason).toBe("BLOCK_NOT_FOUND");
    // One of the same name is another one.
    const again = await putBlock(quire, "notes", textOf);
    expect([again.id === created.id, again.revision, again.text]).toEqual([false, 1, ""]);
  });

  when("lists filter by type, label and share, page by page", async () => {
    for (const label of ["list_a", "list_b", "listXb", "other"]) await putBlock(quire, label, textOf);
    await quire.memory.createBlock({ block: named("list_log"), type: "BLOCK_TYPE_LOG", schema: logOf() });
    await quire.memory.shareBlock({ block: named("list_a"), agent: "flux" });
    const labels = async (request: object) =>
      (await quire.memory.listBlocks(request)).blocks.map(({ label }) => label);
    expect(await labels({ labelPrefix: "list_" })).toEqual(["list_a", "list_b", "list_log"]);
    expect(await labels({ labelPrefix: "list_", type: "BLOCK_TYPE_LOG" })).toEqual(["list_log"]);
    expect(await labels({ labelPrefix: "list_", shared: true })).toEqual(["list_a"]);
    expect(await labels({ labelPrefix: "list_", shared: false })).toEqual(["list_b", "list_log"]);
    expect(await labels({ actor: asFlux })).toEqual(["list_a"]);
    expect(await labels({ actor: asFlux, shared: false })).toEqual([]);
    expect(await labels({ actor: asEntropy, labelPrefix: "list_", shared: true })).toEqual([]);
    const pages: string[] = [];
    let pageToken = "";
    do {
      const page = await quire.memory.listBlocks({ labelPrefix: "list", pageSize: 2, pageToken });
      pages.push(page.blocks.map(({ label }) => label).join());
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(pages.flatMap((page) => page.split(",")).sort()).toEqual([
      "listXb",
      "list_a",
      "list_b",
      "list_log",
    ]);
    expect(pages).toHaveLength(2);
  });

  when("a request id makes a change happen once, also at once, and is not for another one", async () => {
    await putBlock(quire, "once", textOf);
    const request = {
      requestId: "r1",
      block: named("once"),
      operations: [op("appendText", { text: "x" })] as never,
    };
    const answers = await Promise.all([1, 2, 3].map(() => quire.memory.updateBlock(request)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await textNow(quire, "once")).toBe("x");
    const other = { ...request, operations: [setText("y")] as never };
    expect((await refusal(quire.memory.updateBlock(other))).reason).toBe("REQUEST_ID_REUSED");
  });

  when("a writer who names a revision is told when the block has another", async () => {
    await putBlock(quire, "cas", textOf, [setText("one")]);
    const set = (text: string, expectedRevision: number) =>
      quire.memory.updateBlock({
        block: named("cas"),
        operations: [setText(text)] as never,
        expectedRevision,
      });
    await set("two", 1);
    const error = await refusal(set("three", 1));
    expect([error.reason, error.metadata]).toEqual([
      "BLOCK_CHANGED",
      { label: "cas", revision: "2", text: "two" },
    ]);
    await set("three", 2);
  });

  when("a limit holds for what is written, and a block beyond it may only become shorter", async () => {
    await putBlock(quire, "limited", textOf, [setText("12345")], { charLimit: 8 });
    const append = (text: string) =>
      quire.memory.updateBlock({
        block: named("limited"),
        operations: [op("appendText", { text })] as never,
      });
    const error = await refusal(append("6789"));
    expect([error.reason, error.metadata]).toEqual([
      "BLOCK_LIMIT_EXCEEDED",
      { label: "limited", limit: "chars", max: "8", given: "9" },
    ]);
    // A character of two UTF-16 units is one.
    await append("😀😀😀");
    await quire.memory.configureBlock({ block: named("limited"), charLimit: 4 });
    expect((await refusal(append("x"))).reason).toBe("BLOCK_LIMIT_EXCEEDED");
    await quire.memory.updateBlock({ block: named("limited"), operations: [setText("123456")] as never });
  });

  when("revisions are listed, read and restored, across many and a stored snapshot", async () => {
    await putBlock(quire, "history", textOf, [setText("0")]);
    for (let at = 1; at <= 120; at++)
      await quire.memory.updateBlock({
        block: named("history"),
        actor: asEntropy,
        operations: [setText(String(at))] as never,
      });
    const first = await quire.memory.listBlockRevisions({ block: named("history"), pageSize: 100 });
    expect(first.revisions[0]).toMatchObject({
      revision: 121,
      kind: "REVISION_KIND_UPDATE",
      actor: asEntropy,
      summary: "set_text",
    });
    const next = await quire.memory.listBlockRevisions({
      block: named("history"),
      pageSize: 100,
      pageToken: first.nextPageToken,
    });
    expect([next.revisions.length, next.nextPageToken]).toEqual([21, ""]);
    const textAt = async (revision: number) =>
      (await quire.memory.getBlockRevision({ block: named("history"), revision })).text;
    expect([await textAt(1), await textAt(60), await textAt(121)]).toEqual(["0", "59", "120"]);
    const { block } = await quire.memory.restoreBlock({
      block: named("history"),
      revision: 43,
      actor: asEntropy,
    });
    expect([block!.text, block!.revision]).toEqual(["42", 122]);
    expect(
      (await refusal(quire.memory.getBlockRevision({ block: named("history"), revision: 999 }))).reason,
    ).toBe("REVISION_NOT_FOUND");
  });

  when("every schema is restored as it was; a log keeps its entries", async () => {
    const schema = compositeOf(
      {
        name: "m",
        schema: mapOf(field("n", "COUNTER"), field("l", "LIST"), field("t", "TEXT")).schema as never,
      },
      { name: "i", schema: listOf().schema as never },
      { name: "g", schema: logOf().schema as never },
    );
    const before = await putBlock(quire, "whole", schema, [
      op("incrementCounter", { field: "n", by: 3 }, "m"),
      op("appendToField", { field: "l", valueJson: "1" }, "m"),
      op("pushItem", { valueJson: '{"b":1,"a":2}' }, "i"),
      op("appendEntry", { entryJson: '"one"' }, "g"),
    ]);
    await quire.memory.updateBlock({
      block: named("whole"),
      operations: [
        op("incrementCounter", { field: "n", by: 7 }, "m"),
        op("setField", { field: "l", valueJson: "[9]" }, "m"),
        op("setField", { field: "t", valueJson: '"x"' }, "m"),
        op("insertItem", { index: 0, valueJson: "0" }, "i"),
        op("appendEntry", { entryJson: '"two"' }, "g"),
      ] as never,
    });
    const { block } = await quire.memory.restoreBlock({ block: named("whole"), revision: 1 });
    expect(block!.text).toBe(before.text.replace("one", "two\none"));
  });

  when("a schema changes where nothing is lost, or where that is allowed", async () => {
    const map = mapOf(field("name", "TEXT"), field("mood", "TEXT"));
    await putBlock(quire, "shape", map, [
      op("setField", { field: "name", valueJson: '"Ada"' }),
      op("setField", { field: "mood", valueJson: '"fine"' }),
    ]);
    const block = named("shape");
    const grown = mapOf(
      field("name", "TEXT"),
      field("mood", "TEXT"),
      field("score", "COUNTER", { defaultJson: "2" }),
    );
    const { block: after } = await quire.memory.configureBlock({ block, schema: grown });
    expect(after!.text).toBe("name: Ada\nmood: fine\nscore: 2");
    const shrunk = mapOf(field("name", "TEXT"), field("score", "COUNTER"));
    const error = await refusal(quire.memory.configureBlock({ block, schema: shrunk }));
    expect([error.reason, error.metadata.lost]).toEqual(["SCHEMA_LOSES_CONTENT", "field mood"]);
    expect(await textNow(quire, "shape")).toBe("name: Ada\nmood: fine\nscore: 2");
    const forced = await quire.memory.configureBlock({ block, schema: shrunk, allowLoss: true });
    expect([forced.lost, forced.block!.text]).toEqual([["field mood"], "name: Ada\nscore: 2"]);
    // What was lost is still in the revision before, with the schema that it had.
    const earlier = await quire.memory.getBlockRevision({ block, revision: 2 });
    expect(earlier.text).toBe("name: Ada\nmood: fine\nscore: 2");
    expect((await refusal(quire.memory.restoreBlock({ block: named("shape"), revision: 99 }))).reason).toBe(
      "REVISION_NOT_FOUND",
    );
  });

  when("a description with a NUL character is refused, and no block is made", async () => {
    const described = { block: named("described"), description: "a\u0000b" };
    expect((await refusal(quire.memory.createBlock(described))).violations[0]?.field).toBe("description");
    expect((await refusal(quire.memory.configureBlock(described))).violations[0]?.field).toBe("description");
    expect((await refusal(quire.memory.getBlock({ block: named("described") }))).reason).toBe(
      "BLOCK_NOT_FOUND",
    );
  });

  when("archival entries are kept, listed newest first, and removed", async () => {
    const owner = { kind: "OWNER_KIND_AGENT" as const, name: "keeper" };
    const ids: string[] = [];
    for (const content of ["one", "two", "three"]) {
      const { entry } = await quire.memory.insertArchival({ owner, content, metadataJson: '{ "a": 1 }' });
      ids.push(entry!.id);
    }
    const first = await quire.memory.listArchival({ owner, pageSize: 2 });
    expect(first.entries.map(({ content, metadataJson }) => [content, metadataJson])).toEqual([
      ["three", '{ "a": 1 }'],
      ["two", '{ "a": 1 }'],
    ]);
    const rest = await quire.memory.listArchival({ owner, pageSize: 2, pageToken: first.nextPageToken });
    expect(rest.entries.map(({ content }) => content)).toEqual(["one"]);
    expect((await refusal(quire.memory.listArchival({ owner, actor: asFlux }))).reason).toBe(
      "BLOCK_NOT_ALLOWED",
    );
    expect((await refusal(quire.memory.deleteArchival({ id: ids[0]!, actor: asFlux }))).reason).toBe(
      "ARCHIVAL_NOT_FOUND",
    );
    await quire.memory.deleteArchival({ id: ids[0]! });
    expect((await refusal(quire.memory.deleteArchival({ id: ids[0]! }))).reason).toBe("ARCHIVAL_NOT_FOUND");
  });
});
