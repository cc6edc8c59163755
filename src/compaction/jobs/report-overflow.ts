import { mergeSettings } from "../../capsule/context-settings.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { atLeast, minus, modelTokens, shareOf } from "../../domain/token-units.js";
import { TurnStatus } from "../../domain/turn.js";
import { QuireError } from "../../errors/quire-error.js";
import { findEffective } from "../../ledger/effective-thread.js";
import { headMoved } from "../../ledger/turn-draft.js";
import { viewCompaction } from "../../ledger/view-compaction.js";
import { unscaled } from "../../models/token-scale.js";
import { readReceipt } from "../../receipts/find-receipt.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import { parseCutId } from "../../thread/history-cut.js";
import { type Answered, again, type CompactAnswer, requireMade } from "./compact-session.js";
import type { CompactionDeps } from "./deps.js";
import { type CompactionJob, compactingSettings, requireWritten } from "./job.js";
import { makeCompaction } from "./make-compaction.js";
import { timeLeftMs } from "./time-left.js";

/** After an overflow the whole context is brought to this share of what is available. */
const afterOverflowShare = 0.4;
const longestMs = 300_000;

/** Compacts the thread of a context that a model refused as too long. Once per turn. */
export async function reportOverflow(
  deps: CompactionDeps,
  key: WriteKey<CompactAnswer>,
  assemblyId: string,
  limits: { readonly signal: AbortSignal; readonly deadlineMs?: number | undefined },
): Promise<CompactAnswer> {
  const before = await deps.ledger.compactions.answered(key);
  if (before) return before;
  return again(() => recoverOnce(deps, key, assemblyId, limits));
}

async function recoverOnce(
  deps: CompactionDeps,
  key: WriteKey<CompactAnswer>,
  assemblyId: string,
  limits: { readonly signal: AbortSignal; readonly deadlineMs?: number | undefined },
): Promise<CompactAnswer> {
  const { tenantId } = key;
  const receipt = await readReceipt(deps.receipts, tenantId, assemblyId);
  const found = await deps.ledger.threads.findThread(tenantId, receipt.sessionId);
  if (!found) throw sessionNotFound(receipt.sessionId);
  if ((found.session.headTurnId ?? "") !== receipt.parentTurnId)
    throw headMoved(found.session, "assembly_id", "was made under another head");
  const activeId = receipt.historyLayer?.activeTurnId ?? "";
  const active = activeId ? await deps.ledger.threads.findTurn(tenantId, activeId) : undefined;
  const activeTurn = active?.status === TurnStatus.OPEN ? active : undefined;
  const { texts } = await deps.templates.current();
  const thread = await findEffective(deps.ledger, { tenantId, ...found, texts, activeTurn });
  for (const turn of [found.head, activeTurn]) {
    if (turn && (await deps.ledger.compactions.wasRecovered(found.session.id, turn)))
      throw unrecoverable(found.session.id, "the context was too long again for the same turn");
  }
  const server = mergeSettings(deps.settings, undefined, undefined);
  const wanted = deps.goals.remembered(tenantId, found.session.id);
  const { available, used, exact, ratio, margin, vocabulary: counted } = receipt.budget!;
  const vocabulary = counted === "cl100k_base" ? "cl100k_base" : "o200k_base";
  const others = modelTokens((used?.systemPrompt ?? 0) + (used?.tools ?? 0) + (used?.event ?? 0));
  const room = minus(shareOf(modelTokens(available), afterOverflowShare), others);
  const targetTokens = atLeast(unscaled({ exact, ratio, margin }, room), 1);
  const job: CompactionJob = {
    thread: { ...thread, vocabulary },
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
    clean: parseCutId(receipt.historyLayer?.cutId ?? "").clean,
    settings: compactingSettings(wanted?.settings ?? server.compaction),
    instructions: "",
    mayAskEngine: false,
    isPrepared: false,
    limitMs: timeLeftMs(limits.deadlineMs, longestMs),
  };
  const outcome = await makeCompaction(deps, job, limits.signal, async (row, of): Promise<Answered> => {
    const answer = await deps.ledger.compactions.write(key, row, of, (written) => {
      if (written.kind === "recoveredBefore")
        throw unrecoverable(found.session.id, "the context was too long again for the same turn");
      return { compaction: viewCompaction(requireWritten(written)) };
    });
    return { kind: "answered", answer };
  });
  if (outcome.kind === "nothing") throw unrecoverable(found.session.id, "nothing is left to compact");
  return requireMade(found.session.label, outcome);
}

function unrecoverable(sessionId: string, message: string): QuireError {
  return new QuireError("OVERFLOW_UNRECOVERABLE", message, { metadata: { session_id: sessionId } });
}
