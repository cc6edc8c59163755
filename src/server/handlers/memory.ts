import { MemoryServiceDefinition } from "../../contract/gen/quire/v1/memory_service.js";
import { deleteArchival, insertArchival, listArchival } from "../../memory/archival.js";
import { configureBlock } from "../../memory/blocks/configure-block.js";
import { createBlock } from "../../memory/blocks/create-block.js";
import { deleteBlock } from "../../memory/blocks/delete-block.js";
import { getBlock } from "../../memory/blocks/get-block.js";
import { listBlocks } from "../../memory/blocks/list-blocks.js";
import { restoreBlock } from "../../memory/blocks/restore-block.js";
import { getRevision, listRevisions } from "../../memory/blocks/revisions.js";
import { listShares, shareBlock, unshareBlock } from "../../memory/blocks/shares.js";
import { updateBlock } from "../../memory/blocks/update-block.js";
import type { MemoryDeps } from "../../memory/deps.js";
import { syncBlock } from "../../memory/sync/sync-block.js";
import { executeTool } from "../../memory/tools/execute-tool.js";
import { memoryTools } from "../../memory/tools/memory-tools.js";
import { watchBlocks } from "../../memory/watch/watch-blocks.js";
import type { RecallDeps } from "../../recall/deps.js";
import { paged } from "../paged.js";
import { type Service, service } from "../service.js";
import { searchMemory } from "./search.js";

/** MemoryService: each RPC is one command on memory. */
export function memoryService(memory: MemoryDeps, recall: RecallDeps): Service<MemoryServiceDefinition> {
  return service(
    MemoryServiceDefinition,
    {
      createBlock: (request, { key }) => createBlock(memory, key, request),
      getBlock: (request, { tenantId }) => getBlock(memory, tenantId, request),
      listBlocks: (request, { tenantId }) => listBlocks(memory, tenantId, paged(request)),
      updateBlock: (request, { key }) => updateBlock(memory, key, request),
      configureBlock: (request, { key }) => configureBlock(memory, key, request),
      deleteBlock: (request, { key }) => deleteBlock(memory, key, request),
      shareBlock: (request, { key }) => shareBlock(memory, key, request),
      unshareBlock: (request, { key }) => unshareBlock(memory, key, request),
      listBlockShares: (request, { tenantId }) => listShares(memory, tenantId, request),
      listBlockRevisions: (request, { tenantId }) => listRevisions(memory, tenantId, paged(request)),
      getBlockRevision: (request, { tenantId }) => getRevision(memory, tenantId, request),
      restoreBlock: (request, { key }) => restoreBlock(memory, key, request),
      syncBlock: (request, { key }) => syncBlock(memory, key, request),
      watchBlocks: async function* (request, { tenantId, signal }) {
        for await (const event of watchBlocks(memory, tenantId, request, signal)) yield { event };
      },
      listMemoryTools: async () => ({ tools: memoryTools }),
      executeTool: (request, { key, signal }) => executeTool(memory, key, request, signal),
      insertArchival: (request, { key, signal }) => insertArchival(memory, key, request, signal),
      listArchival: (request, { tenantId }) => listArchival(memory, tenantId, paged(request)),
      deleteArchival: (request, { key }) => deleteArchival(memory, key, request),
      search: (request, { tenantId, signal }) => searchMemory(recall, tenantId, request, signal),
    },
    { endless: ["watchBlocks"] },
  );
}
