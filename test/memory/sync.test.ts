import { describe, expect, test } from "vitest";
import { hostileUpdates } from "../../bench/attack/hostile-updates.js";
import type { Quire } from "../../src/index.js";
import { refusal, testQuire } from "../in-process/quire-fixture.js";
import { damage } from "./damage.js";
import { LoroClient } from "./loro-client.js";
import {
  asEntropy,
  asFlux,
  compositeOf,
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

const send = (
  quire: Quire,
  label: string,
  update: Uint8Array,
  actor: { kind: "ACTOR_KIND_AGENT"; name: string } = asEntropy,
) => quire.memory.syncBlock({ block: named(label), actor, update: Buffer.from(update) });

describe("sync: copies and the server agree", () => {
  test("offline edits of two clients and of the server merge, and none is lost", async () => {
    const quire = await testQuire();
    await putBlock(quire, "notes", textOf, [setText("middle")]);
    const one = await new LoroClient(quire, "notes").open();
    const two = await new LoroClient(quire, "notes").open();
    one.doc.getText("text").insert(0, "one ");
    two.doc.getText("text").insert(two.doc.getText("text").length, " two");
    await quire.memory.updateBlock({
      block: named("notes"),
      operations: [op("replaceText", { oldText: "middle", newText: "center", once: true })] as never,
    });
    await one.sync();
    await two.sync();
    await one.sync();
    expect(one.doc.getText("text").toString()).toBe("one center two");
    expect(two.doc.getText("text").toString()).toBe("one center two");
    expect(await textNow(quire, "notes")).toBe("one center two");
    const { revisions } = await quire.memory.listBlockRevisions({ block: named("notes") });
    expect(revisions.map(({ kind }) => kind.replace("REVISION_KIND_", ""))).toEqual([
      "SYNC",
      "SYNC",
      "UPDATE",
      "CREATE",
    ]);
    // The same again changes nothing.
    const before = await one.sync();
    expect((await one.sync()).block!.revision).toBe(before.block!.revision);
  });

  test("every schema can be written by a client", async () => {
    const quire = await testQuire();
    const schema = compositeOf(
      {
        name: "m",
        schema: mapOf(field("n", "COUNTER"), field("l", "LIST"), field("t", "TEXT")).schema as never,
      },
      { name: "i", schema: listOf().schema as never },
      { name: "g", schema: logOf({ agent: true }).schema as never },
    );
    await putBlock(quire, "all", schema);
    const client = await new LoroClient(quire, "all").open();
    client.doc.getCounter("section:m:counter:n").increment(3);
    client.doc.getList("section:m:list:l").push("x");
    client.doc.getMap("section:m:fields").set("t", "text");
    client.doc.getMovableList("section:i:items").push({ task: "a", done: true });
    client.doc.getList("section:g:entries").push({ message: "hi", agent: "entropy" });
    const { block } = await client.sync();
    expect(block!.text).toBe(
      "=== m ===\n\nn: 3\nl:\n- x\nt: text\n\n=== i ===\n\n[x] a\n\n=== g ===\n\n(entropy) hi",
    );
  });
});

describe("sync: what the schema and the permissions do not allow is refused whole", () => {
  const schema = mapOf(
    field("mood", "TEXT"),
    field("age", "NUMBER"),
    field("status", "TEXT", { readOnly: true }),
  );

  test.each([
    ["a field that there is not", "other", 1, "UPDATE_REFUSED"],
    ["a value of another type", "age", "seven", "UPDATE_REFUSED"],
    ["a read-only field", "status", "x", "BLOCK_NOT_ALLOWED"],
  ] as const)("%s", async (_, name, value, reason) => {
    const quire = await testQuire();
    await putBlock(quire, "map", schema);
    const client = await new LoroClient(quire, "map").open();
    client.doc.getMap("fields").set("mood", "fine");
    client.doc.getMap("fields").set(name, value);
    expect((await refusal(client.sync())).reason).toBe(reason);
    expect(await textNow(quire, "map")).toBe("");
  });

  test("who may append may add at the end, and nothing else", async () => {
    const quire = await testQuire();
    await putBlock(quire, "log", textOf, [setText("start")], { permission: "BLOCK_PERMISSION_APPEND" });
    const adds = await new LoroClient(quire, "log").open();
    adds.doc.getText("text").insert(5, " more");
    await adds.sync();
    for (const change of [
      (text: ReturnType<typeof adds.doc.getText>) => text.insert(0, "before "),
      (text: ReturnType<typeof adds.doc.getText>) => text.delete(0, 1),
    ]) {
      const client = await new LoroClient(quire, "log").open();
      change(client.doc.getText("text"));
      expect((await refusal(client.sync())).metadata).toMatchObject({ needs: "write", permission: "Append" });
    }
    expect(await textNow(quire, "log")).toBe("start more");
  });

  test("who only sees a block may fetch it, and write nothing; who does not see it gets nothing", async () => {
    const quire = await testQuire();
    await putBlock(quire, "shared", textOf, [setText("start")]);
    expect((await refusal(new LoroClient(quire, "shared", asFlux).open())).reason).toBe("BLOCK_NOT_FOUND");
    await quire.memory.shareBlock({ block: named("shared"), agent: "flux" });
    const client = await new LoroClient(quire, "shared", asFlux).open();
    expect(client.doc.getText("text").toString()).toBe("start");
    client.doc.getText("text").insert(0, "x");
    expect((await refusal(client.sync())).reason).toBe("BLOCK_NOT_ALLOWED");
    // Nor under the peer of somebody who may.
    const owner = await new LoroClient(quire, "shared").open();
    owner.doc.getText("text").insert(0, "x");
    expect((await refusal(send(quire, "shared", owner.pending(), asFlux))).reason).not.toBe("");
    expect(await textNow(quire, "shared")).toBe("start");
  });

  test("a log entry says who wrote it, and nobody else; entries are not removed", async () => {
    const quire = await testQuire();
    await putBlock(quire, "g", logOf({ agent: true }), [op("appendEntry", { entryJson: '"one"' })]);
    const forged = await new LoroClient(quire, "g").open();
    forged.doc.getList("entries").push({ message: "x", agent: "flux" });
    expect((await refusal(forged.sync())).reason).toBe("UPDATE_REFUSED");
    const removed = await new LoroClient(quire, "g").open();
    removed.doc.getList("entries").delete(0, 1);
    expect((await refusal(removed.sync())).reason).toBe("UPDATE_REFUSED");
  });

  test("a limit holds", async () => {
    const quire = await testQuire();
    await putBlock(quire, "small", textOf, [], { charLimit: 10 });
    const client = await new LoroClient(quire, "small").open();
    client.doc.getText("text").insert(0, "x".repeat(11));
    expect((await refusal(client.sync())).reason).toBe("BLOCK_LIMIT_EXCEEDED");
    expect(await textNow(quire, "small")).toBe("");
  });
});

describe("sync: hostile updates", () => {
  test("a version of a peer that no document can have is refused with its field", async () => {
    const quire = await testQuire();
    await putBlock(quire, "notes", textOf, [setText("kept")]);
    const sync = (peer: string) =>
      quire.memory.syncBlock({
        block: named("notes"),
        version: [
          { peer: "1", counter: 1 },
          { peer, counter: 5 },
        ],
      });
    const error = await refusal(sync("18446744073709551616"));
    expect(error.reason).toBe("INVALID_FIELD");
    expect(error.violations.map(({ field }) => field)).toEqual(["version[1].peer"]);
    expect((await sync("18446744073709551615")).block!.revision).toBe(1);
  });

  test("are refused, the block stays, and every other block works", { timeout: 120_000 }, async () => {
    const quire = await testQuire();
    await putBlock(quire, "target", textOf, [setText("start")]);
    await putBlock(quire, "other", textOf, [setText("other")]);
    for (const [name, make] of Object.entries(hostileUpdates)) {
      const { doc } = await new LoroClient(quire, "target").open();
      const error = await refusal(send(quire, "target", make(doc)));
      expect([name, error.reason]).toEqual([name, "UPDATE_REFUSED"]);
      await quire.memory.updateBlock({
        block: named("other"),
        operations: [op("appendText", { text: "." })] as never,
      });
    }
    const { block } = await quire.memory.getBlock({ block: named("target") });
    expect([block!.text, block!.revision]).toEqual(["start", 1]);
    expect(await textNow(quire, "other")).toBe(`other${".".repeat(Object.keys(hostileUpdates).length)}`);
  });

  test("damaged ones do no harm", { timeout: 120_000 }, async () => {
    await damage(await testQuire(), 150, 11);
  });
});
