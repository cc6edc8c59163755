import type { PrefixState } from "../../contract/gen/quire/v1/prompt_cache.js";
import type { SharedPart } from "../../rendering/cache-plan.js";
import type { Stages } from "../budget-use.js";
import type { AssemblyDeps } from "../deps.js";
import type { ResolvedContext } from "../resolve.js";

/** Where a context first differs from the session's context before. */
export interface ContextDifference
  extends Pick<PrefixState, "firstDifference" | "difference" | "previousReceiptId"> {
  /** What both have in common. */
  readonly shared: SharedPart;
}

export async function contextDifference(
  deps: AssemblyDeps,
  { pin, tenantId }: ResolvedContext,
  { tools, system, history }: Stages,
): Promise<ContextDifference> {
  if (!pin) return { firstDifference: 0, difference: "", previousReceiptId: "", shared: "nothing" };
  const { receipt } = pin;
  const { hashes } = receipt;
  const [toolsBytes = 0, systemBytes = 0, historyBytes = 0] = receipt.layerBytes;
  const found = (firstDifference: number, difference: string, shared: SharedPart) => ({
    firstDifference,
    difference,
    previousReceiptId: receipt.id,
    shared,
  });
  if (!tools.hash.equals(hashes!.tools)) {
    const before = await deps.receipts.findBlob(tenantId, hashes!.tools);
    return found(before ? firstOther(before, tools.wire) : 0, "tools", "nothing");
  }
  if (!system.hash.equals(hashes!.system)) {
    const before = await deps.receipts.findBlob(tenantId, hashes!.system);
    const at = before ? firstOther(before, Buffer.from(system.text)) : 0;
    const section = [...system.sections, ...receipt.sections].find(
      ({ offset, length }) => at < offset + length + 2,
    );
    return found(toolsBytes + at, `section ${section?.name ?? ""}`, "tools");
  }
  const before = receipt.historyLayer!;
  const isBegin =
    before.cutId === "" && history.layer.droppedTurns === 0 && history.layer.compactionId === "";
  if (!isBegin && beginOf(before.cutId) !== beginOf(history.layer.cutId))
    return found(toolsBytes + systemBytes, "cut", "system");
  return found(toolsBytes + systemBytes + historyBytes, "", "history");
}

/** Where a history begins, and how. */
function beginOf(cutId: string): string {
  return cutId.replace("/pending", "");
}

function firstOther(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) if (a[at] !== b[at]) return at;
  return length;
}
