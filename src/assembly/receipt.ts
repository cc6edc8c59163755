import type { CutState, Receipt } from "../contract/gen/quire/v1/assembly.js";
import type { ReceiptDeps } from "../receipts/deps.js";
import { keepReceipt } from "../receipts/keep-receipt.js";
import type { CacheStage } from "./cache/plan-caching.js";
import type { ContextUse, Stages } from "./plan/budget-use.js";
import type { ResolvedContext } from "./resolve/resolve.js";

/** What of a resolved request it needs. */
export type ReceiptInput = Pick<
  ResolvedContext,
  "assemblyId" | "modelName" | "nowMs" | "role" | "session" | "templates" | "tenantId"
>;

/** Puts together what there is to say about an assembly, and writes it. */
export async function writeReceipt(
  deps: Pick<ReceiptDeps, "receipts" | "recentReceipts">,
  resolved: ReceiptInput,
  stages: Stages,
  use: ContextUse,
  cache: CacheStage,
  cut: CutState,
  contextWire: Buffer,
): Promise<void> {
  const { tools, system, history, current } = stages;
  const { tenantId, templates } = resolved;
  const core: Receipt = {
    assemblyId: resolved.assemblyId,
    sessionId: resolved.session.id,
    parentTurnId: resolved.session.headTurnId ?? "",
    role: resolved.role,
    model: resolved.modelName,
    candidates: [],
    inputs: [],
    budget: use.budget,
    sections: [...system.sections],
    historyLayer: { ...history.layer, reused: false, afterTurnId: "" },
    hashes: use.hashes,
    layerBytes: {
      tools: tools.wire.length,
      system: system.bytes.length,
      history: history.allPieces().reduce((sum, piece) => sum + piece.length, 0),
      current: current.wire.length,
    },
    floors: [...use.floors],
    warnings: [...use.warnings],
    createTime: new Date(resolved.nowMs),
    cachePlan: cache.plan,
    prefix: cache.prefix,
    injectedSystem: system.injected,
    cut,
  };
  const lists = {
    candidates: [tools.candidates, system.candidates, [...history.candidates, ...current.candidates]],
    inputs: [system.inputs, current.inputs],
  };
  await keepReceipt(deps, tenantId, core, lists, {
    contextWire,
    system: { hash: system.hash, bytes: system.bytes },
    tools: { hash: tools.hash, bytes: tools.wire },
    templates,
  });
}
