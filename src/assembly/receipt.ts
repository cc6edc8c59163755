import { Receipt } from "../contract/gen/quire/v1/assembly.js";
import { toMicroseconds } from "../domain/clock.js";
import { ownBytes } from "../domain/memory-size.js";
import { type ContextUse, candidatesOf, type Stages } from "./budget-use.js";
import type { AssemblyDeps } from "./deps.js";
import type { CacheStage } from "./plan-caching.js";
import type { ResolvedContext } from "./resolve.js";

/** Puts together what there is to say about an assembly, and writes it. */
export async function keepReceipt(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  stages: Stages,
  use: ContextUse,
  cache: CacheStage,
  contextWire: Buffer,
): Promise<void> {
  const { tools, system, history, current } = stages;
  const systemBytes = ownBytes(Buffer.from(system.text));
  const receipt: Receipt = {
    assemblyId: resolved.assemblyId,
    sessionId: resolved.session.id,
    parentTurnId: resolved.session.headTurnId ?? "",
    role: resolved.role,
    model: resolved.modelName,
    candidates: candidatesOf(stages),
    inputs: [...system.inputs, ...current.inputs],
    budget: use.budget,
    sections: [...system.sections],
    historyLayer: { ...history.layer, reused: false, afterTurnId: "" },
    hashes: use.hashes,
    layerBytes: {
      tools: tools.wire.length,
      system: systemBytes.length,
      history: bytesOf(history.allPieces()),
      current: current.wire.length,
    },
    floors: [...use.floors],
    warnings: [...use.warnings],
    createTime: new Date(resolved.nowMs),
    cachePlan: cache.plan,
    prefix: cache.prefix,
    injectedSystem: system.injected,
  };
  deps.recentReceipts.keep(resolved.tenantId, receipt);
  await deps.receipts.add(
    {
      tenantId: resolved.tenantId,
      id: resolved.assemblyId,
      sessionId: resolved.session.id,
      wire: ownBytes(Receipt.encode(receipt).finish()),
      contextWire: ownBytes(contextWire),
      systemHash: system.hash,
      toolsHash: tools.hash,
      templatesHash: resolved.templates.hash,
      createdUs: toMicroseconds(resolved.nowMs),
    },
    [systemBytes, tools.wire, resolved.templates.bytes],
  );
}

function bytesOf(pieces: Iterable<Buffer>): number {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}
