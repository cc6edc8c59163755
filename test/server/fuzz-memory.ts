import { MemoryServiceDefinition } from "../../src/contract/gen/quire/v1/memory_service.js";
import type { Random } from "./fuzz-requests.js";

/** Search is not among them: it reads what the others write, and has no state of its own. */
export type MemoryMethod = Exclude<keyof MemoryServiceDefinition["methods"], "search">;

const owner = { kind: "OWNER_KIND_AGENT", name: "fuzz" };
const actor = { kind: "ACTOR_KIND_AGENT", name: "fuzz" };

/** For each method of MemoryService the fields of a request that is right. Blocks come and go, so most of them are there at most times. */
const fields: Readonly<Record<MemoryMethod, (random: Random) => object>> = {
  createBlock: (random) => ({
    ...named(random),
    requestId: `m${random.below(50)}`,
    type: "BLOCK_TYPE_CORE",
    description: "what I know",
    permission: "BLOCK_PERMISSION_ADMIN",
    charLimit: 5_000,
    schema: {
      schema: {
        $case: "composite",
        value: {
          sections: [
            { name: "notes", schema: { $case: "text", value: {} } },
            {
              name: "state",
              readOnly: true,
              schema: { $case: "map", value: { fields: [{ name: "score", type: "FIELD_TYPE_COUNTER" }] } },
            },
          ],
        },
      },
    },
    operations: [text("start")],
  }),
  getBlock: named,
  listBlocks: () => ({ owner, actor, labelPrefix: "b", pageSize: 20 }),
  updateBlock: (random) => ({
    ...named(random),
    requestId: `m${random.below(50)}`,
    operations: [text("more"), text("and")],
  }),
  configureBlock: (random) => ({ ...named(random), description: "other", charLimit: 6_000, pinned: true }),
  deleteBlock: (random) => named(random),
  shareBlock: (random) => ({ ...named(random), agent: "flux", permission: "BLOCK_PERMISSION_APPEND" }),
  unshareBlock: (random) => ({ ...named(random), agent: "flux" }),
  listBlockShares: named,
  listBlockRevisions: (random) => ({ ...named(random), pageSize: 10 }),
  getBlockRevision: (random) => ({ ...named(random), revision: 1 }),
  restoreBlock: (random) => ({ ...named(random), revision: 1 }),
  syncBlock: (random) => ({ ...named(random), newPeer: true, version: [{ peer: "7", counter: 3 }] }),
  watchBlocks: () => ({ owner, actor }),
  listMemoryTools: () => ({}),
  executeTool: (random) => ({
    requestId: `m${random.below(50)}`,
    agent: "fuzz",
    name: "memory_read",
    argumentsJson: '{"label":"b1"}',
  }),
  insertArchival: (random) => ({
    requestId: `m${random.below(50)}`,
    owner,
    actor,
    content: "kept",
    metadataJson: '{"a":1}',
  }),
  listArchival: () => ({ owner, actor, pageSize: 10 }),
  deleteArchival: (random) => ({
    owner,
    actor,
    id: `0198c0de-0000-7000-8000-00000000000${random.below(10)}`,
  }),
};

function named(random: Random) {
  return { block: { owner, label: `b${random.below(6)}` }, actor };
}

function text(words: string) {
  return { section: "notes", operation: { $case: "appendText", value: { text: words } } };
}

export const memoryMethods = Object.keys(fields) as readonly MemoryMethod[];

export function memoryRequest(method: MemoryMethod, random: Random): Uint8Array {
  const { requestType } = MemoryServiceDefinition.methods[method];
  return requestType.encode(requestType.fromPartial(fields[method](random) as never) as never).finish();
}
