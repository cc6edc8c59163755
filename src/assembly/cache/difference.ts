import type { HistoryLayer } from "../../contract/gen/quire/v1/assembly.js";
import {
  type ContextChange,
  ContextChangeKind,
  type PrefixState,
} from "../../contract/gen/quire/v1/prompt_cache.js";
import { QuireError } from "../../errors/quire-error.js";
import { changedSection, firstDifference, sectionTexts, turnAt } from "../../receipts/compare.js";
import type { ReceiptDeps } from "../../receipts/deps.js";
import type { ReceiptCore } from "../../receipts/recent-receipts.js";
import { replayContext } from "../../receipts/replay.js";
import type { SharedPart } from "../../rendering/cache-plan.js";
import { messagePiece, turnPieces } from "../../thread/history-bytes.js";
import { beginAlike, parseCutId } from "../../thread/history-cut.js";
import { type HistoryStage, isClean } from "../history/history.js";
import type { Stages } from "../plan/budget-use.js";
import type { ResolvedContext } from "../resolve/resolve.js";

/** What of a resolved request it needs. */
export type DifferenceInput = Pick<ResolvedContext, "pin" | "request" | "tenantId">;

export type CacheDeps = Pick<ReceiptDeps, "ledger" | "receipts">;

/** Where a context first differs from the session's context before. */
export interface ContextDifference
  extends Pick<PrefixState, "firstDifference" | "difference" | "previousAssemblyId"> {
  /** What both have in common. */
  readonly shared: SharedPart;
  /** Of history, all that was sent before this turn's last answer. */
  readonly sharedTurnId: string;
}

export async function contextDifference(
  deps: CacheDeps,
  resolved: DifferenceInput,
  { tools, system, history }: Stages,
): Promise<ContextDifference> {
  const { pin, tenantId } = resolved;
  if (!pin)
    return {
      firstDifference: 0,
      difference: undefined,
      previousAssemblyId: "",
      shared: "nothing",
      sharedTurnId: "",
    };
  const { receipt, row } = pin;
  const { hashes } = receipt;
  const {
    tools: toolsBytes = 0,
    system: systemBytes = 0,
    history: historyBytes = 0,
  } = receipt.layerBytes ?? {};
  const found = (
    firstDifference: number,
    difference: ContextChange | undefined,
    shared: SharedPart,
    sharedTurnId = row.turnId,
  ): ContextDifference => ({
    firstDifference,
    difference,
    previousAssemblyId: receipt.assemblyId,
    shared,
    sharedTurnId,
  });
  if (!tools.hash.equals(hashes!.tools)) {
    const before = await deps.receipts.findBlob(tenantId, hashes!.tools);
    return found(
      before ? divergence(before, tools.wire) : 0,
      { kind: ContextChangeKind.TOOLS, detail: "" },
      "nothing",
    );
  }
  if (!system.hash.equals(hashes!.system)) {
    const before = await deps.receipts.findBlob(tenantId, hashes!.system);
    const now = Buffer.concat([system.bytes, system.lead.wire]);
    const at = before ? divergence(before, now) : 0;
    const section = changedSection(
      before ? sectionTexts(before, receipt.sections) : [],
      sectionTexts(now, system.sections),
    );
    return found(toolsBytes + at, { kind: ContextChangeKind.SECTION, detail: section }, "tools");
  }
  const before = receipt.historyLayer!;
  const isBegin =
    before.cutId === "" && history.layer.droppedTurns === 0 && history.layer.compactionId === "";
  const isCut = !isBegin && !beginAlike(before.cutId, history.layer.cutId);
  const same = toolsBytes + systemBytes;
  if (!isCut && goesOn(resolved, history, before, historyBytes))
    return found(same + historyBytes, undefined, "history");
  const earlier = await earlierHistory(deps, tenantId, receipt);
  const pieces = history.allPieces();
  const at = earlier ? divergence(earlier, Buffer.concat(pieces)) : 0;
  if (isCut) return found(same + at, { kind: ContextChangeKind.CUT, detail: "" }, "system");
  if (at === earlier?.length) return found(same + at, undefined, "history");
  const turnId = (earlier && turnAt(pieces, at)) ?? before.lastTurnId;
  return found(same + at, { kind: ContextChangeKind.TURN, detail: turnId }, "history", turnId);
}

/**
 * Whether a history that begins as the one before goes on where that one ended. It does not where results were made up for calls that were still
 * open then, and are not any more; or where that one was made for another branch of the thread.
 */
function goesOn(
  resolved: DifferenceInput,
  history: HistoryStage,
  { cutId, lastTurnId, activeTurnId, activeMessageCount }: HistoryLayer,
  bytesBefore: number,
): boolean {
  const { layer, shown } = history;
  const last = shown.findIndex(({ stored }) => stored.turnId === lastTurnId);
  if (lastTurnId !== "" && last < 0) return false;
  if (!parseCutId(cutId).pending && activeTurnId === "") return true;
  const isFitted = layer.elisionCount > 0 || layer.splitMessageIndex > (shown[0]?.from ?? 0);
  if (isFitted) return false;
  const clean = isClean(resolved);
  const summary = layer.compactionId === "" ? [] : history.allPieces().slice(0, 1);
  const finished = shown.slice(0, last + 1).flatMap((turn) => turnPieces(turn, clean));
  const active = shown.find(({ stored }) => stored.turnId === activeTurnId);
  const said = active?.facts.messages.slice(0, activeMessageCount - active.from) ?? [];
  const open = said
    .filter(({ role }) => role !== "S")
    .map((message) => messagePiece(active!, message, clean));
  return [...summary, ...finished, ...open].reduce((sum, { length }) => sum + length, 0) === bytesBefore;
}

/** The history of an earlier context; undefined where it can no longer be made again. */
async function earlierHistory(
  deps: CacheDeps,
  tenantId: string,
  { assemblyId }: ReceiptCore,
): Promise<Buffer | undefined> {
  try {
    return Buffer.concat((await replayContext(deps, tenantId, assemblyId)).history);
  } catch (error) {
    if (error instanceof QuireError) return undefined;
    throw error;
  }
}

/** Where the second first goes another way; the end of what both have where one begins with the other. */
function divergence(a: Buffer, b: Buffer): number {
  return firstDifference(a, b) ?? a.length;
}
