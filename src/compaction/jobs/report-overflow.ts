import { mergeSettings } from "../../capsule/context-settings.js";
import { toMicroseconds } from "../../domain/clock.js";
import { CompactionTrigger } from "../../domain/compaction.js";
import { atLeast, minus, modelTokens, shareOf } from "../../domain/token-units.js";
import { TurnStatus } from "../../domain/turn.js";
import { QuireError } from "../../errors/quire-error.js";
import { boundCut } from "../../ledger/effective-cut.js";
import { findWhole, heldBy } from "../../ledger/effective-thread.js";
import { reportedLimitOf, withReportedLimit } from "../../ledger/reported-limits.js";
import { headMoved } from "../../ledger/turn-draft.js";
import { viewCompaction } from "../../ledger/view-compaction.js";
import { unscaled } from "../../models/token-scale.js";
import { readReceipt } from "../../receipts/find-receipt.js";
import type { CompactionOutcome } from "../../storage/ledger/compaction-store.js";
import type { SessionRow, TurnRow } from "../../storage/ledger/rows.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import { parseCutId } from "../../thread/history-cut.js";
import { readFacts } from "../../thread/turn-facts.js";
import { vocabularyNamed } from "../../tokens/vocabulary.js";
import { again, type CompactAnswer, requireMade } from "./compact-session.js";
import type { CompactionDeps } from "./deps.js";
import { type CompactionJob, compactingSettings, type JobOutcome, requireWritten } from "./job.js";
import { goalId } from "./job-goal.js";
import { makeCompaction, planCompaction } from "./make-compaction.js";
import { timeLeftMs } from "./time-left.js";
import { wantedOf } from "./wanted.js";

/** After an overflow the whole context is brought to this share of what is available. */
const afterOverflowShare = 0.4;
const longestMs = 300_000;
/** A turn whose calls are too long so often is not helped by one more. */
const mostInTurn = 16;

/** What a provider said of a context that it refused. */
export interface Overflow {
  readonly assemblyId: string;
  /** The most that the model takes. */
  readonly limitTokens?: number | undefined;
  /** How long the context was, by the model's own count. */
  readonly contextTokens?: number | undefined;
}

export interface OverflowAnswer extends CompactAnswer {
  readonly limitTokens?: number | undefined;
}

interface CallLimits {
  readonly signal: AbortSignal;
  readonly deadlineMs?: number | undefined;
}

/** Compacts the thread of a context that a model refused as too long, and remembers the model's limit. Once per model call. */
export async function reportOverflow(
  deps: CompactionDeps,
  key: WriteKey<OverflowAnswer>,
  overflow: Overflow,
  limits: CallLimits,
): Promise<OverflowAnswer> {
  const before = await deps.ledger.compactions.answered(key);
  if (before) return before;
  return again(() => recoverOnce(deps, key, overflow, limits));
}

type Recovered =
  | { readonly kind: "answered"; readonly answer: OverflowAnswer }
  | Exclude<JobOutcome, { kind: "done" }>;

async function recoverOnce(
  deps: CompactionDeps,
  key: WriteKey<OverflowAnswer>,
  overflow: Overflow,
  limits: CallLimits,
): Promise<OverflowAnswer> {
  const { tenantId } = key;
  const receipt = await readReceipt(deps.receipts, tenantId, overflow.assemblyId);
  const found = await deps.ledger.threads.findThread(tenantId, receipt.sessionId);
  if (!found) throw sessionNotFound(receipt.sessionId);
  const { session, head } = found;
  if ((session.headTurnId ?? "") !== receipt.parentTurnId)
    throw headMoved(session, "assembly_id", "was made under another head");
  const activeId = receipt.historyLayer?.activeTurnId ?? "";
  const active = activeId ? await deps.ledger.threads.findTurn(tenantId, activeId) : undefined;
  const activeTurn = active?.status === TurnStatus.OPEN ? active : undefined;
  const recoveredCall =
    activeTurn && (await isAnswered(deps, activeTurn))
      ? `${activeTurn.id}/${activeTurn.messageCount}`
      : `after/${head?.id ?? ""}`;
  const places = [head, activeTurn].flatMap((turn) => (turn ? [turn.id] : []));
  const had = (call: string | { readonly startsWith: string }) =>
    deps.ledger.compactions.recoveries(tenantId, session.id, places, call);
  if ((await had(recoveredCall)) > 0) throw tooLongAgain(session.id);
  if (activeTurn && (await had({ startsWith: `${activeTurn.id}/` })) >= mostInTurn)
    throw unrecoverable(session.id, "turn", `the turn had ${mostInTurn} recoveries already`);

  const { model, budget } = receipt;
  const { available, used, exact, ratio, margin, vocabulary: counted, modelLimit, countedTokens } = budget!;
  const { contextTokens } = overflow;
  if (countedTokens && contextTokens)
    deps.calibrator.observe(tenantId, model, { countedTokens, inputTokens: contextTokens });
  const limitTokens = toldLimit(overflow, reportedLimitOf(found.memory, model), modelLimit);
  const told = (row: SessionRow): Partial<SessionRow> =>
    limitTokens === undefined
      ? {}
      : { reportedLimitsJson: withReportedLimit(row, { model, tokens: limitTokens }) };

  const server = mergeSettings(deps.settings, undefined, undefined);
  const wanted = wantedOf(receipt);
  const vocabulary = vocabularyNamed(counted);
  const others = modelTokens((used?.systemPrompt ?? 0) + (used?.tools ?? 0) + (used?.event ?? 0));
  // A lower limit leaves so much less; a context that was more than it was taken for is to become so much smaller.
  const lowered = Math.min(available, leftOf(limitTokens ?? modelLimit, budget!));
  const total = used?.total ?? 0;
  const undercount = total > 0 && contextTokens ? Math.max(1, contextTokens / total) : 1;
  // What was refused is too much, whatever the window is said to be.
  const whole = Math.min(Math.floor(Math.max(1, lowered) / undercount), total || Number.POSITIVE_INFINITY);
  const room = minus(shareOf(modelTokens(whole), afterOverflowShare), others);
  const targetTokens = atLeast(unscaled({ exact, ratio, margin }, room), 1);
  const { texts } = await deps.templates.current();
  const thread = await findWhole(deps.ledger, { tenantId, ...found, texts, activeTurn });
  const cutId = receipt.cut?.compactionId ?? "";
  const compaction = await boundCut(deps.ledger, heldBy(thread), cutId, model);
  const goal = {
    targetTokens,
    roomTokens: targetTokens,
    fullRoomTokens: targetTokens,
    targetMessages: Number.POSITIVE_INFINITY,
    roomMessages: Number.POSITIVE_INFINITY,
    keepTurns: wanted?.goal.keepTurns ?? server.keepTurns,
    keepAtMost: Number.POSITIVE_INFINITY,
  };
  const settings = compactingSettings(wanted?.settings ?? server.compaction);
  const job: CompactionJob = {
    thread: { ...thread, compaction, vocabulary },
    trigger: CompactionTrigger.OVERFLOW_RECOVERY,
    goal,
    goalId: goalId({ of: ["overflow", recoveredCall], goal, settings, instructions: "" }),
    floorModel: model,
    clean: parseCutId(receipt.historyLayer?.cutId ?? "").clean,
    settings,
    instructions: "",
    mayAskEngine: false,
    isPrepared: false,
    recoveredCall,
    limitMs: timeLeftMs(limits.deadlineMs, longestMs),
  };
  const planned = await planCompaction(deps, job, limits.signal);
  const outcome: Recovered = planned
    ? await makeCompaction(deps, job, planned, limits.signal, async (draft, of) => {
        const answerOf = (written: CompactionOutcome): OverflowAnswer => {
          if (written.kind === "recoveredBefore") throw tooLongAgain(session.id);
          return { compaction: viewCompaction(requireWritten(written)), limitTokens };
        };
        const answer = await deps.ledger.compactions.write(key, draft, of, answerOf, told);
        return { kind: "answered" as const, answer };
      })
    : { kind: "nothing" };
  if (outcome.kind !== "nothing") return requireMade(session.label, outcome);
  const isLower = limitTokens !== undefined && limitTokens < modelLimit;
  if (!isLower) throw unrecoverable(session.id, "nothing_left", "nothing is left to compact");
  return rememberLimit(deps, key, session.id, told, limitTokens);
}

/** Whether the model has said something in the turn: before that, its call is the one that the turn was begun for. */
async function isAnswered({ ledger }: CompactionDeps, { tenantId, id }: TurnRow): Promise<boolean> {
  const { messages } = readFacts(await ledger.threads.findIndexes(tenantId, id));
  return messages.some(({ role }) => role === "A");
}

/** What a limit leaves for a context; the reserves of a smaller window are smaller. */
function leftOf(
  limit: number,
  reserves: { readonly reserveResponse: number; readonly reserveTools: number },
): number {
  const response = Math.min(reserves.reserveResponse, Math.floor(limit / 8));
  return limit - response - Math.min(reserves.reserveTools, Math.floor(limit / 4));
}

/** What the session is to remember: what was said; without that, less than what was too much. */
function toldLimit(
  { limitTokens, contextTokens }: Overflow,
  before: number | undefined,
  modelLimit: number,
): number | undefined {
  if (limitTokens !== undefined) return limitTokens;
  if (contextTokens === undefined || contextTokens > modelLimit) return before;
  return Math.min(before ?? Number.POSITIVE_INFINITY, Math.max(1, contextTokens - 1));
}

/** A context that nothing can be taken from keeps to the limit by itself: it elides results, or says why it cannot. */
async function rememberLimit(
  deps: CompactionDeps,
  key: WriteKey<OverflowAnswer>,
  sessionId: string,
  told: (row: SessionRow) => Partial<SessionRow>,
  limitTokens: number,
): Promise<OverflowAnswer> {
  return deps.ledger.sessions.write(key, toMicroseconds(deps.clock.now()), async (sessions) => {
    const stored = await sessions.find(sessionId);
    await sessions.update(stored, told(stored.row));
    return { answer: { compaction: undefined, limitTokens }, sessionId };
  });
}

function tooLongAgain(sessionId: string): QuireError {
  return unrecoverable(sessionId, "same_call", "the context was too long again for the same model call");
}

function unrecoverable(sessionId: string, why: string, message: string): QuireError {
  return new QuireError("OVERFLOW_UNRECOVERABLE", message, { metadata: { session_id: sessionId, why } });
}
