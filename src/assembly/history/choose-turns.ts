import { type Floor, FloorKind } from "../../domain/compaction.js";
import { BudgetPolicy } from "../../domain/context-settings.js";
import { ElidedContent } from "../../domain/message.js";
import { countedTokens, type ModelTokens, minus, sumOf } from "../../domain/token-units.js";
import type { ThreadWindow } from "../../ledger/thread-window.js";
import { scaled, unscaled } from "../../models/token-scale.js";
import type { MarksEnd } from "../../thread/fit.js";
import { capTurns, endOf, type FitLimits, fitTurns } from "../../thread/fit-turns.js";
import { type FittedTurns, markTurns } from "../../thread/marked-turns.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import { summaryCost } from "../../thread/summary-cost.js";
import { type CutLimits, chooseCut, type WeighedTurn } from "../../thread/window-cut.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import { laneExceeded } from "../plan/strict.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { pinnedTurns } from "./pinned-turns.js";

/** What of a resolved request it needs. */
export type ChoiceInput = Pick<ResolvedContext, "pin" | "scale" | "settings">;

/** What history may use, in the model's tokens. */
export interface HistoryRooms {
  /** Beside the memory's reserve. */
  readonly room: ModelTokens;
  /** When memory gives way. */
  readonly fullRoom: ModelTokens;
  /** What it comes down to when something of it is left out. */
  readonly target: ModelTokens;
}

/** The turns that are shown. */
export interface ChosenTurns {
  /** Newest first. */
  readonly kept: readonly ShownTurn[];
  /** The kept turns, where they had to be cut to fit. */
  readonly fitted: FittedTurns | undefined;
  readonly floors: readonly Floor[];
}

/** Undefined where what is still open does not fit. */
export async function chooseTurns(
  counter: TokenCounter,
  resolved: ChoiceInput,
  window: ThreadWindow,
  { room, fullRoom, target }: HistoryRooms,
  clean: boolean,
): Promise<ChosenTurns | undefined> {
  const { scale, settings } = resolved;
  const { newestFirst } = window;
  const newest = newestFirst[0];
  const summary = summaryCost(window.compaction);
  const summarized = window.compaction?.summarizedTurns ?? 0;
  const inThread = summarized + window.unreadTurns + newestFirst.length;
  const wanted = Math.min(settings.keepTurns, inThread);
  const fewer = (count: number) => (count < wanted ? [{ kind: FloorKind.KEEP_TURNS, value: count }] : []);
  if (!newest) return { kept: [], fitted: undefined, floors: fewer(0) };
  const turns = newestFirst.map(weighed);
  const limitsIn = (tokens: ModelTokens): FitLimits => ({
    tokens: minus(unscaled(scale, tokens), summary.tokens),
    targetTokens: minus(unscaled(scale, target), summary.tokens),
    messages: (settings.maxMessages ?? Number.POSITIVE_INFINITY) - summary.messages,
  });
  const limits = limitsIn(room);
  if (settings.policy === BudgetPolicy.STRICT_FAIL) requireWhole(resolved, turns, limits);
  const asFitted = (fitted: FittedTurns, floors: readonly Floor[]): ChosenTurns => {
    const kept = fitted.turns.toReversed();
    const split = splitFloor(kept.at(-1)!.from + fitted.fit.splitIndex);
    return { kept, fitted, floors: [...floors, ...fewer(kept.length), ...split, ...elidedFloors(fitted)] };
  };
  const asWhole = (count: number, floors: readonly Floor[]): ChosenTurns => ({
    kept: newestFirst.slice(0, count),
    fitted: undefined,
    floors: [...floors, ...fewer(count), ...splitFloor(newestFirst[count - 1]!.from)],
  });
  const wantedHere = Math.min(wanted, newestFirst.length);
  const keptBy = (cut: number | undefined) => (cut === undefined ? 0 : cut + 1);

  // What was marked stays marked, and what was not is not, while that fits.
  const pinned = pinnedTurns(resolved, window, clean);
  if (pinned?.fit) {
    const fitted = await markTurns(counter, pinned.turns, pinned.fit, clean);
    if (isWithin(fitted, limits)) return asFitted(fitted, []);
  }
  const cut = chooseCut(turns, limits, window.wholeThread);
  const isAsPinned = pinned !== undefined && !pinned.fit && pinned.turns.length === keptBy(cut);
  const capped = isAsPinned ? undefined : await capKept(counter, resolved, window, limits, clean);
  if (capped) return asFitted(capped, []);
  if (keptBy(cut) >= wantedHere) return asWhole(keptBy(cut), []);

  const fullLimits = limitsIn(fullRoom);
  const wider = chooseCut(turns, fullLimits, window.wholeThread);
  if (keptBy(wider) >= wantedHere) return asWhole(keptBy(wider), [{ kind: FloorKind.MEMORY_GAVE_WAY }]);
  if (wider !== undefined) return asWhole(keptBy(wider), []);

  const begin = newestFirst.findIndex((turn) => turn.facts.startsClean);
  const group = newestFirst.slice(0, begin < 0 ? newestFirst.length : begin + 1);
  const fitted = await fitTurns(counter, group.toReversed(), fullLimits, clean);
  if (fitted) return asFitted(fitted, []);
  if (newest.unanswered.length > 0) return undefined;
  return { kept: [], fitted: undefined, floors: [...fewer(0), { kind: FloorKind.NO_TURN_FITS }] };
}

function isWithin({ tokens, messages }: CutLimits, limits: CutLimits): boolean {
  return tokens <= limits.tokens && messages <= limits.messages;
}

/**
 * A compaction that could keep the last turns only by missing its target shortens their calls as well, or the next one would follow at once. Which
 * turns these are follows from the compaction, so later assemblies make the same marks.
 */
async function capKept(
  counter: TokenCounter,
  { settings }: ChoiceInput,
  { compaction, newestFirst, wholeThread }: ThreadWindow,
  limits: FitLimits,
  clean: boolean,
): Promise<FittedTurns | undefined> {
  if (!compaction || !wholeThread || settings.policy !== BudgetPolicy.ELASTIC) return undefined;
  const turns = newestFirst.toReversed();
  const anchor = turns.findIndex(({ stored }) => stored.turnId === compaction.anchorTurnId);
  const isOpen = anchor < 0 || turns[anchor]!.isActive;
  const then = isOpen ? turns : turns.slice(0, anchor + 1);
  if (sumOf(then, (turn) => turn.tokens) <= limits.targetTokens) return undefined;
  return capTurns(counter, turns, limits, isOpen ? roundEnds(turns) : [endOf(then)], clean);
}

/** A turn that goes on is marked up to a round place first, so that marks do not move with every message. */
function roundEnds(turns: readonly ShownTurn[]): MarksEnd[] {
  const end = endOf(turns);
  const round = [32, 8].map((step) => ({
    ...end,
    messageIndex: Math.floor(end.messageIndex / step) * step,
  }));
  return [...round, end];
}

/** What was left out of turns, by kind. */
function elidedFloors({ elided, fit }: FittedTurns): Floor[] {
  const counts = new Map<FloorKind, number>();
  for (const { content } of elided) {
    const kind = floorOf[content] ?? FloorKind.ELIDED_TEXTS;
    if (kind !== FloorKind.ELIDED_CALLS) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  if (fit.leftOutCalls > 0) counts.set(FloorKind.ELIDED_CALLS, fit.leftOutCalls);
  return elidedKinds.flatMap((kind) => (counts.has(kind) ? [{ kind, value: counts.get(kind)! }] : []));
}

const floorOf: Partial<Record<ElidedContent, FloorKind>> = {
  [ElidedContent.TOOL_RESULT]: FloorKind.ELIDED_RESULTS,
  [ElidedContent.TOOL_ARGUMENTS]: FloorKind.ELIDED_ARGUMENTS,
  [ElidedContent.TOOL_CALL]: FloorKind.ELIDED_CALLS,
};

const elidedKinds = [
  FloorKind.ELIDED_RESULTS,
  FloorKind.ELIDED_ARGUMENTS,
  FloorKind.ELIDED_TEXTS,
  FloorKind.ELIDED_CALLS,
] as const;

function splitFloor(messageIndex: number): readonly Floor[] {
  return messageIndex > 0 ? [{ kind: FloorKind.SPLIT_TURN, value: messageIndex }] : [];
}

/** Under STRICT_FAIL, a thread that is over the lane fails, even where a window of it would fit. */
function requireWhole(resolved: ChoiceInput, turns: readonly WeighedTurn[], limits: CutLimits): void {
  const kept = chooseCut(turns, { ...limits, tokens: countedTokens(Number.POSITIVE_INFINITY) }, false);
  const tokens = sumOf(turns.slice(0, kept === undefined ? 0 : kept + 1), (turn) => turn.tokens);
  if (tokens > limits.tokens)
    throw laneExceeded("history", scaled(resolved.scale, tokens), scaled(resolved.scale, limits.tokens));
}

function weighed(turn: ShownTurn): WeighedTurn {
  return {
    depth: turn.stored.depth,
    tokens: turn.tokens,
    messages: turn.facts.spokenMessages + (turn.unanswered.length > 0 ? 1 : 0),
    startsClean: turn.facts.startsClean,
  };
}

/** Whether a summary fits beside everything else. It gives way last: what fits of the turns beside it is what is shown of them. */
export function isSummaryInPlace(
  { scale, settings }: ChoiceInput,
  { compaction }: ThreadWindow,
  { fullRoom }: HistoryRooms,
): boolean {
  const { tokens, messages } = summaryCost(compaction);
  return tokens <= unscaled(scale, fullRoom) && messages <= (settings.maxMessages ?? messages);
}
