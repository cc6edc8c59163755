import type { MemoryCalls } from "../memory/memory-calls.js";
import { asEntropy, field, mapOf, named, op, setText, textOf } from "../memory/memory-quire.js";

interface Expected {
  readonly fields?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The errors that only memory gives: each sets a block, then one call is refused. */
export function blockCases<Case>(
  memory: () => MemoryCalls,
  refused: (expected: Expected, arrange: () => Promise<() => Promise<unknown>>) => Case,
) {
  let count = 0;
  const put = async (more: object = {}) => {
    const label = `block${++count}`;
    await memory().createBlock({ block: named(label), schema: textOf, ...more });
    return named(label);
  };
  const noEntry = "0198c0de-0000-7000-8000-000000000009";
  return {
    BLOCK_NOT_FOUND: refused(
      { metadata: { owner: "entropy", label: "nothing" } },
      async () => () => memory().getBlock({ block: named("nothing") }),
    ),
    BLOCK_EXISTS: refused({ metadata: { owner: "entropy" } }, async () => {
      const block = await put();
      return () => memory().createBlock({ block });
    }),
    BLOCK_CHANGED: refused({ metadata: { revision: "1", text: "" } }, async () => {
      const block = await put();
      return () => memory().updateBlock({ block, operations: [setText("x")] as never, expectedRevision: 7 });
    }),
    BLOCK_NOT_ALLOWED: refused(
      { metadata: { actor: "agent", permission: "ReadOnly", needs: "append" } },
      async () => {
        const block = await put({ permission: "BLOCK_PERMISSION_READ_ONLY" });
        const operations = [op("appendText", { text: "x" })] as never;
        return () => memory().updateBlock({ block, actor: asEntropy, operations });
      },
    ),
    BLOCK_SCHEMA_MISMATCH: refused(
      { fields: ["operations[0].set_field"], metadata: { field: "operations[0].set_field" } },
      async () => {
        const block = await put();
        const operations = [op("setField", { field: "mood", valueJson: "1" })] as never;
        return () => memory().updateBlock({ block, operations });
      },
    ),
    BLOCK_LIMIT_EXCEEDED: refused({ metadata: { limit: "chars", max: "3", given: "4" } }, async () => {
      const block = await put({ charLimit: 3 });
      return () => memory().updateBlock({ block, operations: [setText("four")] as never });
    }),
    SCHEMA_LOSES_CONTENT: refused({ metadata: { lost: "field mood" } }, async () => {
      const block = await put({
        schema: mapOf(field("mood", "TEXT")),
        operations: [op("setField", { field: "mood", valueJson: '"fine"' })],
      });
      return () => memory().configureBlock({ block, schema: mapOf(field("name", "TEXT")) });
    }),
    REVISION_NOT_FOUND: refused({ metadata: { revision: "12" } }, async () => {
      const block = await put();
      return () => memory().getBlockRevision({ block, revision: 12 });
    }),
    SHARE_NOT_FOUND: refused({ metadata: { agent: "flux" } }, async () => {
      const block = await put();
      return () => memory().unshareBlock({ block, agent: "flux" });
    }),
    UPDATE_REFUSED: refused({ metadata: { why: "it is no Loro update" } }, async () => {
      const block = await put();
      return () => memory().syncBlock({ block, update: Buffer.from("nonsense") });
    }),
    ARCHIVAL_NOT_FOUND: refused(
      { metadata: { id: noEntry } },
      async () => () => memory().deleteArchival({ id: noEntry }),
    ),
  };
}
