import { unscaled } from "../../budget/token-scale.js";
import { mergeSettings } from "../../capsule/context-settings.js";
import { Receipt } from "../../contract/gen/quire/v1/assembly.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { TurnStatus } from "../../domain/turn.js";
import { QuireError } from "../../errors/quire-error.js";
import { headMoved } from "../../ledger/turn-draft.js";
import { viewCompaction } from "../../ledger/view-compaction.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import type { AssemblyDeps } from "../deps.js";
import { findReceipt } from "../replay.js";
import { findEffective } from "../thread-window.js";
import { type Answered, again, type CompactAnswer, requireMade } from "./compact-session.js";
import { type CompactionJob, compactingSettings, requireWritten } from "./job.js";
import { makeCompaction } from "./make-compaction.js";
import { timeLeftMs } from "./time-left.js";

/** After an overflow the whole context is brought to this share of what is available. */
const afterOverflowShare = 0.4;
const longestMs = 300_000;

/** Compacts the thread of a context that a model refused as too long. Once per turn. */
export async function reportOverflow(
  deps: AssemblyDeps,
  key: WriteKey<CompactAnswer>,
  assemblyId: string,
  limits: { readonly signal: AbortSignal; readonly deadlineMs?: number | undefined },
): Promise<CompactAnswer> {
  const before = await deps.ledger.compactions.answered(key);
  if (before) return before;
  return again(() => recoverOnce(deps, key, assemblyId, limits));
}

async function recoverOnce(
  deps: AssemblyDeps,
  key: WriteKey<CompactAnswer>,
  assemblyId: string,
  limits: { readonly signal: AbortSignal; readonly deadlineMs?: number | undefined },
): Promise<CompactAnswer> {
  const { tenantId } = key;
  const stored = await findReceipt(deps, tenantId, assemblyId);
  const receipt = Receipt.decode(stored.wire);
  const found = await deps.ledger.threads.findThread(tenantId, stored.sessionId);
  if (!found) throw sessionNotFound(stored.sessionId);
  if ((found.session.headTurnId ?? "") !== receipt.parentTurnId)
    throw headMoved(found.session, "assembly_id", "was made under another head");
  const activeId = receipt.historyLayer?.activeTurnId ?? "";
  const active = activeId ? await deps.ledger.threads.findTurn(tenantId, activeId) : undefined;
  const activeTurn = active?.status === TurnStatus.OPEN ? active : undefined;
  const thread = await findEffective(deps, { tenantId, ...found, activeTurn });
  for (const turn of [found.head, activeTurn]) {
    if (turn && (await deps.ledger.compactions.wasRecovered(found.session.id, turn)))
      throw unrecoverable(found.session.id, "the context was too long again for the same turn");
  }
  const server = mergeSettings(deps.settings, undefined, undefined);
  const wanted = deps.compactor.remembered(tenantId, found.session.id);
  const { available, used, exact, ratio, margin } = receipt.budget!;
  const others = (used?.systemPrompt ?? 0) + (used?.tools ?? 0) + (used?.event ?? 0);
  const targetTokens = Math.max(
    1,
    unscaled({ exact, ratio, margin }, Math.floor(available * afterOverflowShare) - others),
  );
  const job: CompactionJob = {
    thread,
    trigger: CompactionTrigger.OVERFLOW_RECOVERY,
    goal: {
      targetTokens,
      roomTokens: targetTokens,
      fullRoomTokens: targetTokens,
      targetMessages: Number.POSITIVE_INFINITY,
      roomMessages: Number.POSITIVE_INFINITY,
      keepTurns: wanted?.goal.keepTurns ?? server.keepTurns,
      keepAtMost: Number.POSITIVE_INFINITY,
    },
    clean: receipt.historyLayer?.cutId.includes("/clean") ?? false,
    settings: compactingSettings(wanted?.settings ?? server.compaction),
    instructions: "",
    mayAskEngine: false,
    isPrepared: false,
    limitMs: timeLeftMs(limits.deadlineMs, longestMs),
  };
  const outcome = await makeCompaction(
    deps.compactor.deps,
    job,
    limits.signal,
    async (row, of): Promise<Answered> => {
      const answer = await deps.ledger.compactions.write(key, row, of, (written) => {
        if (written.kind === "recoveredBefore")
          throw unrecoverable(found.session.id, "the context was too long again for the same turn");
        return { compaction: viewCompaction(requireWritten(written)) };
      });
      return { kind: "answered", answer };
    },
  );
  if (outcome.kind === "nothing") throw unrecoverable(found.session.id, "nothing is left to compact");
  return requireMade(found.session.label, outcome);
}

function unrecoverable(sessionId: string, message: string): QuireError {
  return new QuireError("OVERFLOW_UNRECOVERABLE", message, { metadata: { session_id: sessionId } });
}
