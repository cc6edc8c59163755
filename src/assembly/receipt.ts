import type { CutState, Receipt } from "../contract/gen/quire/v1/assembly.js";
import { ownConcat } from "../domain/memory-size.js";
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

/** The prompt, and the messages between it and history: what its hash is over. */
function systemLayerBytes({ bytes, lead }: Stages["system"]): Buffer {
  return lead.wire.length === 0 ? bytes : ownConcat([bytes, lead.wire]);
}

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
  const { tools, system, history, current, gathered } = stages;
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
      system: system.bytes.length + system.lead.wire.length,
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
    sources: [...gathered.reports],
    leadBytes: system.lead.wire.length,
  };
  const lists = {
    candidates: [
      tools.candidates,
      system.candidates,
      [...history.candidates, ...current.candidates, ...gathered.candidates],
    ],
    inputs: [system.inputs, [...current.inputs, ...gathered.inputs]],
    sections: system.sections,
  };
  await keepReceipt(deps, tenantId, core, lists, {
    contextWire,
    system: { hash: system.hash, bytes: systemLayerBytes(system) },
    tools: { hash: tools.hash, bytes: tools.wire },
    templates,
  });
}
