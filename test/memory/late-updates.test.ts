import { LoroDoc } from "loro-crdt";
import { expect, onTestFinished, test, vi } from "vitest";
import { defaultTenantId } from "../../src/server/call/call-context.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { refusal } from "../in-process/quire-fixture.js";
import { LoroClient } from "./loro-client.js";
import { asEntropy, compositeOf, field, mapOf, named, op, putBlock, textOf } from "./memory-quire.js";

type Opened = Awaited<ReturnType<typeof openedEngine>>;

const schema = compositeOf(
  { name: "words", schema: textOf.schema as never },
  { name: "counts", schema: mapOf(field("n", "COUNTER")).schema as never },
);
const words = "section:words:text";
const block = named("notes");

/** Words at the end of the text, each a revision of its own. */
async function write({ quire }: Opened, count: number): Promise<void> {
  const operations = [
    op("appendText", { text: "word " }, "words"),
    op("incrementCounter", { field: "n", by: 1 }, "counts"),
  ];
  await Promise.all(
    Array.from({ length: count }, () => quire.memory.updateBlock({ block, operations: operations as never })),
  );
}

/** What this thread imports into documents, by length. */
function watchImports(): number[] {
  const lengths: number[] = [];
  const { import: original } = LoroDoc.prototype;
  const spy = vi.spyOn(LoroDoc.prototype, "import").mockImplementation(function (this: LoroDoc, bytes) {
    lengths.push(bytes.length);
    return original.call(this, bytes);
  });
  onTestFinished(() => spy.mockRestore());
  return lengths;
}

async function stored({ engine }: Opened) {
  const { reads } = engine.memory.store;
  const row = (await reads.find(defaultTenantId, {
    ownerKind: "OWNER_KIND_AGENT",
    ownerName: "entropy",
    label: "notes",
  }))!;
  return { revision: row.revision, snapshotRevision: await reads.snapshotRevision(defaultTenantId, row.id) };
}

const shown = async ({ quire }: Opened) => (await quire.memory.getBlock({ block })).block!;

test("an update that was made without many others is merged in a worker thread, and stored with a snapshot, past which nobody imports", async () => {
  const one = await openedEngine();
  const other = await openedEngine({ database: one.config.database });
  await putBlock(one.quire, "notes", schema);
  const late = await new LoroClient(one.quire, "notes").open();
  await write(one, 300);
  // Both servers have the document open.
  await shown(one);
  await shown(other);
  late.doc.getText(words).insert(0, "late ");
  late.doc.getCounter("section:counts:counter:n").increment(1);
  const update = late.pending();
  const imports = watchImports();
  const { block: merged } = await one.quire.memory.syncBlock({
    block,
    actor: asEntropy,
    update: Buffer.from(update),
  });
  expect(imports).not.toContain(update.length);
  expect(merged!.text).toBe(`=== words ===\n\nlate ${"word ".repeat(300)}\n\n=== counts ===\n\nn: 301`);
  const { revision, snapshotRevision } = await stored(one);
  expect([revision, snapshotRevision]).toEqual([302, 302]);

  imports.length = 0;
  expect((await shown(other)).text).toBe(merged!.text);
  await write(other, 3);
  expect(imports).toHaveLength(1);
  await write(one, 2);
  const { text } = await shown(other);
  expect(text).toBe((await shown(one)).text);
  expect(text).toContain("n: 306");
  await late.sync();
  expect(`${late.doc.getText(words)}`.match(/word|late/g)).toHaveLength(306);
  // What each revision holds can still be read.
  const then = await other.quire.memory.getBlockRevision({ block, revision: 302 });
  expect(then.text).toBe(merged!.text);
});

test("an update of somebody who has nearly all is merged at once, and stored as it is", async () => {
  const one = await openedEngine();
  await putBlock(one.quire, "notes", schema);
  await write(one, 300);
  const client = await new LoroClient(one.quire, "notes").open();
  await write(one, 3);
  client.doc.getText(words).insert(0, "near ");
  const { block: merged } = await client.sync();
  expect(merged!.text).toContain("near ");
  const { revision, snapshotRevision } = await stored(one);
  expect([revision, snapshotRevision < 302]).toEqual([305, true]);
});

test("a late update that is refused for its size leaves the block, and those that wait beside it go on", async () => {
  const one = await openedEngine();
  await putBlock(one.quire, "notes", schema, [], { charLimit: 2_500 });
  const late = await new LoroClient(one.quire, "notes").open();
  await write(one, 300);
  late.doc.getText(words).insert(0, "late ".repeat(300));
  const refused = refusal(
    one.quire.memory.syncBlock({ block, actor: asEntropy, update: Buffer.from(late.pending()) }),
  );
  await Promise.all([write(one, 5), refused]);
  expect((await refused).reason).toBe("BLOCK_LIMIT_EXCEEDED");
  expect((await shown(one)).text).toBe(
    `=== words ===\n\n${"word ".repeat(305).trimEnd()} \n\n=== counts ===\n\nn: 305`,
  );
});

test("a document with a long tail is put together in a worker thread", async () => {
  const one = await openedEngine();
  await putBlock(one.quire, "notes", schema);
  const long = op("appendText", { text: "x".repeat(2_000) }, "words");
  for (let at = 0; at < 5; at++) await one.quire.memory.updateBlock({ block, operations: [long] as never });
  const other = await openedEngine({ database: one.config.database });
  const imports = watchImports();
  expect((await shown(other)).contentJson).toBe((await shown(one)).contentJson);
  // The snapshot of all, and nothing else.
  expect(imports).toHaveLength(1);
});
