import { isStrategy, mergeSettings } from "../../capsule/context-settings.js";
import { CompactionTrigger, type CompactionTurn } from "../../domain/compaction.js";
import type { CompressionStrategy } from "../../domain/context-settings.js";
import { countedTokens } from "../../domain/token-units.js";
import { QuireError } from "../../errors/quire-error.js";
import { boundCut, effectiveCut } from "../../ledger/effective-cut.js";
import { findWhole, heldBy } from "../../ledger/effective-thread.js";
import { viewCompaction } from "../../ledger/view-compaction.js";
import type { CompactionRow } from "../../storage/ledger/rows.js";
import { sessionNotFound } from "../../storage/ledger/session-store.js";
import type { WriteKey } from "../../storage/stored-answers.js";
import { askEngine, type EngineRequest } from "./ask-engine.js";
import type { CompactionDeps } from "./deps.js";
import { type CompactionJob, compactingSettings, type JobOutcome, requireWritten } from "./job.js";
import { goalId } from "./job-goal.js";
import { makeCompaction, planCompaction, type WriteCompaction } from "./make-compaction.js";
import { timeLeftMs } from "./time-left.js";

/** A compaction that a person asks for. */
export interface CompactSession {
  readonly session: string;
  readonly instructions: string;
  readonly keepTurns: number;
  readonly targetTokens?: number | undefined;
  readonly compressionStrategy: CompressionStrategy;
  readonly summarizers?: { readonly names: readonly string[] } | undefined;
}

export interface CompactAnswer {
  readonly compaction: CompactionTurn | undefined;
}

/** The compaction, or what the caller's own model is asked for instead. */
export interface CompactSessionAnswer extends CompactAnswer {
  readonly needed: EngineRequest | undefined;
}

/** A compaction whose answer is stored with it. */
export interface Answered<Answer extends CompactAnswer = CompactAnswer> {
  readonly kind: "answered";
  readonly answer: Answer;
}

const longestMs = 300_000;

/** Compacts a session's thread now. */
export async function compactSession(
  deps: CompactionDeps,
  key: WriteKey<CompactSessionAnswer>,
  command: CompactSession,
  limits: { readonly signal: AbortSignal; readonly deadlineMs?: number | undefined },
): Promise<CompactSessionAnswer> {
  const before = await deps.ledger.compactions.answered(key);
  if (before) return before;
  return again(() => compactOnce(deps, key, command, limits));
}

const mostAttempts = 3;

/** Does it again when the thread changed meanwhile. */
export async function again<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isLate = error instanceof QuireError && error.reason === "COMPACTION_OUTDATED";
      if (!isLate || attempt === mostAttempts) throw error;
    }
  }
}

async function compactOnce(
  deps: CompactionDeps,
  key: WriteKey<CompactSessionAnswer>,
  command: CompactSession,
  limits: { readonly signal: AbortSignal; readonly deadlineMs?: number | undefined },
): Promise<CompactSessionAnswer> {
  const { tenantId } = key;
  const found = await deps.ledger.threads.findThread(tenantId, command.session);
  if (!found) throw sessionNotFound(command.session);
  const { texts } = await deps.templates.current();
  const whole = await findWhole(deps.ledger, { tenantId, ...found, texts, activeTurn: undefined });
  const of = heldBy(whole);
  const server = mergeSettings(deps.settings, undefined, undefined);
  const unbounded = countedTokens(Number.POSITIVE_INFINITY);
  const targetTokens = command.targetTokens === undefined ? unbounded : countedTokens(command.targetTokens);
  const keepTurns = command.keepTurns || server.keepTurns;
  const goal = {
    targetTokens,
    roomTokens: targetTokens,
    fullRoomTokens: unbounded,
    targetMessages: Number.POSITIVE_INFINITY,
    roomMessages: Number.POSITIVE_INFINITY,
    keepTurns,
    keepAtMost: command.targetTokens === undefined ? keepTurns : Number.POSITIVE_INFINITY,
  };
  const settings = {
    ...compactingSettings(server.compaction),
    ...(isStrategy(command.compressionStrategy) ? { strategy: command.compressionStrategy } : {}),
    ...(command.summarizers ? { summarizers: command.summarizers.names } : {}),
  };
  const { instructions } = command;
  const jobOn = (compaction: CompactionRow | undefined): CompactionJob => ({
    thread: { ...whole, compaction },
    trigger: CompactionTrigger.MANUAL,
    goal,
    goalId: goalId({ of: ["manual"], goal, settings, instructions }),
    floorModel: "",
    clean: false,
    settings,
    instructions,
    mayAskEngine: true,
    isPrepared: false,
    limitMs: timeLeftMs(limits.deadlineMs, longestMs),
  });
  let job = jobOn(await effectiveCut(deps.ledger, of));
  let planned = await planCompaction(deps, job, limits.signal);
  if (!planned && job.thread.compaction) {
    // A context has folded as much already: what is asked for by hand holds for those that show more.
    job = jobOn(await boundCut(deps.ledger, of, "", ""));
    planned = await planCompaction(deps, job, limits.signal);
  }
  if (!planned) return requireMade(command.session, { kind: "nothing" });
  const { thread } = job;
  const write: WriteCompaction<Answered<CompactSessionAnswer>> = async (draft, of) => {
    const answer = await deps.ledger.compactions.write(key, draft, of, (written) => ({
      compaction: viewCompaction(requireWritten(written)),
      needed: undefined,
    }));
    return { kind: "answered", answer };
  };
  const outcome = await makeCompaction(deps, job, planned, limits.signal, write);
  if (outcome.kind !== "needed") return requireMade(command.session, outcome);
  const about = {
    sessionId: thread.session.id,
    previousId: thread.compaction?.id ?? "",
    trigger: job.trigger,
    goal: job.goalId,
  };
  return { compaction: undefined, needed: askEngine(deps.planSeal, tenantId, { ...outcome, ...about }) };
}

/** The answer, or why there is none. */
export function requireMade<Answer extends CompactAnswer>(
  session: string,
  outcome: Answered<Answer> | Exclude<JobOutcome, { kind: "done" }>,
): Answer {
  if (outcome.kind === "answered") return outcome.answer;
  if (outcome.kind === "failed") {
    throw new QuireError("COMPACTION_FAILED", outcome.failures[0]?.reason ?? outcome.reason, {
      metadata: Object.fromEntries(outcome.failures.map(({ summarizer, reason }) => [summarizer, reason])),
    });
  }
  throw new QuireError("NOTHING_TO_COMPACT", "the thread has no turns that a summary could stand for", {
    metadata: { session },
  });
}
