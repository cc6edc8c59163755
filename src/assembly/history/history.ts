import { targetShare } from "../../compaction/plan/goal.js";
import {
  CandidateRule,
  type ContextCandidate,
  type Elision,
  type HistoryLayer,
  HistoryReplay,
} from "../../contract/gen/quire/v1/assembly.js";
import { type Floor, FloorKind, floorText } from "../../domain/compaction.js";
import { BudgetPolicy } from "../../domain/context-settings.js";
import { sha256 } from "../../domain/hash.js";
import { defaultPromptTexts, type PromptTexts } from "../../domain/prompt-texts.js";
import {
  atLeast,
  least,
  type ModelTokens,
  minus,
  modelTokens,
  plus,
  shareOf,
  sumOf,
} from "../../domain/token-units.js";
import { QuireError } from "../../errors/quire-error.js";
import type { LedgerDeps } from "../../ledger/deps.js";
import type { ThreadWindow } from "../../ledger/thread-window.js";
import { scaled } from "../../models/token-scale.js";
import { turnPieces } from "../../thread/history-bytes.js";
import { cutId, type HistoryCut } from "../../thread/history-cut.js";
import { openCost } from "../../thread/open-cost.js";
import type { ShownMessages } from "../../thread/shown-messages.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import { summaryCost } from "../../thread/summary-cost.js";
import { historyMessages } from "../cache/history-messages.js";
import { historyCandidate } from "../plan/candidates.js";
import type { ContextPlan } from "../plan/plan.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { type ChosenTurns, chooseTurns, type HistoryRooms, isSummaryInPlace } from "./choose-turns.js";

/** What of a resolved request it needs. */
export type HistoryInput = Pick<
  ResolvedContext,
  "head" | "pin" | "request" | "scale" | "settings" | "templates" | "tenantId"
>;

export interface HistoryDeps {
  readonly ledger: LedgerDeps;
}

export interface HistoryStage {
  readonly layer: HistoryLayer;
  /** The messages that are sent, as stored bytes: all of them, or those that the caller lacks. */
  pieces(): readonly Buffer[];
  /** All of them, whatever the caller has. */
  allPieces(): readonly Buffer[];
  readonly tokens: ModelTokens;
  readonly candidates: readonly ContextCandidate[];
  readonly floors: readonly Floor[];
  /** The turns of which something is shown, oldest first. */
  readonly shown: readonly ShownTurn[];
  /** Whether there are images and files in it, whose tokens follow from a formula. */
  readonly hasMedia: boolean;
  /** Every message that is shown, turn by turn. */
  messages(): readonly ShownMessages[];
}

/** What the other layers use. */
export interface OtherTokens {
  readonly system: ModelTokens;
  readonly tools: ModelTokens;
  readonly event: ModelTokens;
}

export function otherTokens({ system, tools, event }: OtherTokens): ModelTokens {
  return plus(plus(system, tools), event);
}

/** The history that fits beside everything else: the summary that it begins with, and the turns that are kept. */
export async function buildHistory(
  deps: HistoryDeps,
  resolved: HistoryInput,
  plan: ContextPlan,
  others: OtherTokens,
  window: ThreadWindow,
): Promise<HistoryStage> {
  const clean = isClean(resolved);
  const rooms = historyRooms(resolved, plan, others);
  const chosen = await chooseTurns(deps.ledger.counter, resolved, window, rooms, clean);
  if (window.compaction && (!chosen || !isSummaryInPlace(resolved, window, rooms))) {
    const bare = await window.withoutSummary();
    const without = await chooseTurns(deps.ledger.counter, resolved, bare, rooms, clean);
    if (!without) throw tooLarge(others, await openTokens(deps, resolved, bare), plan.limits.available);
    return await stage(
      deps,
      resolved,
      bare,
      { ...without, floors: [{ kind: FloorKind.SUMMARY_LEFT_OUT }, ...without.floors] },
      clean,
    );
  }
  if (!chosen) throw tooLarge(others, await openTokens(deps, resolved, window), plan.limits.available);
  return await stage(deps, resolved, window, chosen, clean);
}

export function isClean({ request }: Pick<ResolvedContext, "request">): boolean {
  return request.replay === HistoryReplay.CLEAN;
}

export function historyRooms(
  { settings, request }: Pick<ResolvedContext, "request" | "settings">,
  plan: ContextPlan,
  others: OtherTokens,
): HistoryRooms {
  const { available } = plan.limits;
  if (settings.policy !== BudgetPolicy.ELASTIC) {
    const room = plan.historyCap ?? plan.lanes.history;
    return { room, fullRoom: room, target: room };
  }
  const fullRoom = minus(available, otherTokens(others));
  if (fullRoom < 0) throw tooLarge(others, modelTokens(0), available);
  // Inside a tool loop there is no current message that could show anything: history may use that room, too.
  const room = atLeast(request.event ? minus(fullRoom, plan.memoryReserve) : fullRoom, 0);
  const cap = plan.historyCap ?? modelTokens(Number.POSITIVE_INFINITY);
  const whole = minus(shareOf(available, targetShare), otherTokens(others));
  return {
    room: least(room, cap),
    fullRoom: least(fullRoom, cap),
    target: atLeast(least(least(whole, shareOf(cap, targetShare)), room), 0),
  };
}

function tooLarge(others: OtherTokens, openCalls: ModelTokens, available: ModelTokens): QuireError {
  const { system, tools, event } = others;
  const metadata = { system, tools, event, open_calls: openCalls, available };
  return new QuireError(
    "CONTEXT_TOO_LARGE",
    `system prompt (${system}), tools (${tools}), event (${event}) and open calls (${openCalls}) need more than the ${available} tokens there are`,
    {
      metadata: Object.fromEntries(Object.entries(metadata).map(([name, tokens]) => [name, String(tokens)])),
    },
  );
}

async function openTokens(
  deps: HistoryDeps,
  { scale }: HistoryInput,
  { newestFirst }: ThreadWindow,
): Promise<ModelTokens> {
  return scaled(scale, await openCost(deps.ledger.counter, newestFirst));
}

async function stage(
  deps: HistoryDeps,
  resolved: HistoryInput,
  window: ThreadWindow,
  chosen: ChosenTurns,
  clean: boolean,
): Promise<HistoryStage> {
  const { head } = resolved;
  const { compaction } = window;
  const oldestFirst = chosen.kept.toReversed();
  const finished = oldestFirst.filter((turn) => !turn.isActive);
  const first = oldestFirst[0];
  const last = finished.at(-1);
  const dropped = window.newestFirst.length - chosen.kept.length + window.unreadTurns;
  const hasMarks = chosen.fitted !== undefined || oldestFirst.some((turn) => turn.unanswered.length > 0);
  const cut: HistoryCut = {
    compactionId: compaction?.id ?? "",
    firstTurnId: first?.stored.turnId ?? "",
    fittedId: chosen.fitted?.id ?? "",
    wordsId: hasMarks ? wordsId(resolved.templates.texts) : "",
    clean,
    pending: last !== undefined && last.unanswered.length > 0 && last.stored.turnId === head?.id,
  };
  const id = cutId(cut);
  const chain = last && head ? Buffer.from(head.chainHash ?? []) : Buffer.alloc(0);
  const counted = chosen.fitted?.tokens ?? sumOf(chosen.kept, (turn) => turn.tokens);
  const tokens = scaled(resolved.scale, plus(counted, summaryCost(compaction).tokens));
  const activeTurn = oldestFirst.find((turn) => turn.isActive);
  const active = activeTurn?.stored.wires ?? [];
  const reuse = cut.pending ? undefined : await reusable(deps, resolved, id, finished);
  const piecesOf = (turns: readonly ShownTurn[]): readonly Buffer[] => {
    const pieces: Buffer[] = [];
    for (const turn of turns) {
      const own = chosen.fitted ? chosen.fitted.piecesOf(turn) : turnPieces(turn, clean);
      for (const piece of own) pieces.push(piece);
    }
    return pieces;
  };
  let all: readonly Buffer[] | undefined;
  const allPieces = () => {
    all ??= [...(compaction ? [Buffer.from(compaction.wire)] : []), ...piecesOf(oldestFirst)];
    return all;
  };
  return {
    layer: {
      cutId: id,
      firstTurnId: first?.stored.turnId ?? "",
      lastTurnId: last?.stored.turnId ?? "",
      chainHash: chain,
      turns: oldestFirst.length,
      droppedTurns: dropped,
      tokens,
      reused: reuse !== undefined,
      afterTurnId: reuse === undefined ? "" : finished[reuse]!.stored.turnId,
      splitMessageIndex: (first?.from ?? 0) + (chosen.fitted?.fit.splitIndex ?? 0),
      elisionCount: chosen.fitted?.elided.length ?? 0,
      elisions: elisionsOf(resolved, chosen),
      hash: sha256(Buffer.from(id), chain, ...active),
      activeTurnId: activeTurn?.stored.turnId ?? "",
      activeMessageCount: activeTurn ? activeTurn.from + activeTurn.facts.messages.length : 0,
      compactionId: compaction?.id ?? "",
      summarizedTurns: compaction?.summarizedTurns ?? 0,
    },
    pieces: () => (reuse === undefined ? allPieces() : piecesOf(oldestFirst.slice(reuse + 1))),
    allPieces,
    tokens,
    candidates: candidates(resolved, window, chosen, tokens),
    floors: chosen.floors,
    shown: oldestFirst,
    hasMedia: oldestFirst.some((turn) => turn.facts.hasMedia),
    messages: () => historyMessages(compaction, oldestFirst, chosen, clean),
  };
}

/** A layer names so many at most. */
const maxElisions = 512;

function elisionsOf({ scale }: HistoryInput, { fitted }: ChosenTurns): Elision[] {
  const named = fitted?.elided.slice(0, maxElisions) ?? [];
  return named.map(({ turnId, messageIndex, partIndex, callId, content, tokens, shownTokens }) => ({
    turnId,
    messageIndex,
    partIndex,
    callId,
    content,
    tokensBefore: scaled(scale, tokens),
    tokensAfter: scaled(scale, shownTokens),
  }));
}

const markNames = [
  "no-result",
  "left-out-messages",
  "left-out-result",
  "left-out-arguments",
  "left-out-text",
  "left-out-names",
  "left-out-thinking",
  "left-out-attachment",
  "left-out-calls",
] as const;

/** Stands for the words of marks in history where they are not the default ones. */
function wordsId(texts: PromptTexts): string {
  if (markNames.every((name) => texts[name] === defaultPromptTexts[name])) return "";
  const words = Buffer.from(JSON.stringify(markNames.map((name) => texts[name])));
  return sha256(words).toString("hex").slice(0, 8);
}

/** The index of the last turn that the caller holds, if what it holds is the beginning of this history. */
async function reusable(
  deps: HistoryDeps,
  resolved: HistoryInput,
  id: string,
  finished: readonly ShownTurn[],
): Promise<number | undefined> {
  const { have } = resolved.request;
  if (!have?.lastTurnId || have.cutId !== id) return undefined;
  const index = finished.findIndex((turn) => turn.stored.turnId === have.lastTurnId);
  // A result that was made up for the last turn held may have come after it was held.
  if (index < 0 || finished[index]!.unanswered.length > 0) return undefined;
  const row = await deps.ledger.threads.findTurn(resolved.tenantId, have.lastTurnId);
  return row?.chainHash && have.chainHash.equals(row.chainHash) ? index : undefined;
}

function candidates(
  resolved: HistoryInput,
  window: ThreadWindow,
  chosen: ChosenTurns,
  tokens: number,
): ContextCandidate[] {
  const found: ContextCandidate[] = [];
  const { kept } = chosen;
  const droppedTurns = window.newestFirst.slice(kept.length);
  const { compaction } = window;
  const summarized = compaction?.summarizedTurns ?? 0;
  if (compaction) {
    found.push(
      historyCandidate({
        name: `summary of turns 1-${summarized}`,
        tokens: scaled(resolved.scale, summaryCost(compaction).tokens),
        kept: true,
        rule: CandidateRule.COMPACTION,
        detail: `${compaction.strategy}; compaction ${compaction.id}`,
      }),
    );
  }
  const deepestDropped = droppedTurns[0]?.stored.depth ?? summarized + window.unreadTurns;
  if (deepestDropped > summarized) {
    const known = sumOf(droppedTurns, (turn) => turn.tokens);
    const detail =
      window.unreadTurns > 0
        ? `tokens of turns ${summarized + 1}-${summarized + window.unreadTurns} not counted: they were not read`
        : "";
    found.push(
      historyCandidate({
        name: `turns ${summarized + 1}-${deepestDropped}`,
        tokens: scaled(resolved.scale, known),
        kept: false,
        rule: CandidateRule.WINDOW,
        detail,
      }),
    );
  }
  const oldest = kept.at(-1);
  if (oldest) {
    const name = `turns ${oldest.stored.depth}-${kept[0]!.stored.depth}`;
    found.push(
      historyCandidate({
        name,
        tokens: tokens - scaled(resolved.scale, summaryCost(compaction).tokens),
        kept: true,
        rule: CandidateRule.WINDOW,
        detail: chosen.floors.map(floorText).join("; "),
      }),
    );
  }
  const withSystem = kept.filter((turn) => turn.facts.hasSystem).length;
  if (withSystem > 0) {
    found.push(
      historyCandidate({
        name: "system messages in history",
        tokens: 0,
        kept: false,
        rule: CandidateRule.ONE_SYSTEM_PROMPT,
        detail: `in ${withSystem} turns`,
      }),
    );
  }
  return found;
}
