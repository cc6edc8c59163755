import { scaled } from "../budget/token-scale.js";
import type { ContextCandidate, HistoryLayer } from "../contract/gen/quire/v1/assembly.js";
import { CandidateRule, HistoryReplay } from "../contract/gen/quire/v1/assembly.js";
import { type Floor, FloorKind, floorText } from "../domain/compaction.js";
import { BudgetPolicy } from "../domain/context-settings.js";
import { sha256 } from "../domain/hash.js";
import { defaultPromptTexts, type PromptTexts } from "../domain/prompt-texts.js";
import { QuireError } from "../errors/quire-error.js";
import { historyCandidate } from "./candidates.js";
import {
  type ChosenTurns,
  chooseTurns,
  type HistoryRooms,
  isSummaryInPlace,
  summaryCost,
} from "./choose-turns.js";
import type { AssemblyDeps } from "./deps.js";
import { turnPieces } from "./history-bytes.js";
import type { ContextPlan } from "./plan.js";
import type { ResolvedContext } from "./resolve.js";
import { type ShownMessage, shownMessages } from "./shown-messages.js";
import type { ThreadWindow, WindowTurn } from "./thread-window.js";

export interface HistoryStage {
  readonly layer: HistoryLayer;
  /** The messages that are sent, as stored bytes: all of them, or those that the caller lacks. */
  pieces(): readonly Buffer[];
  /** All of them, whatever the caller has. */
  allPieces(): readonly Buffer[];
  readonly tokens: number;
  readonly candidates: readonly ContextCandidate[];
  readonly floors: readonly Floor[];
  /** The turns of which something is shown, oldest first. */
  readonly shown: readonly WindowTurn[];
  /** Whether something in it is not counted: images and files. */
  readonly hasUncounted: boolean;
  /** Every message that is shown. */
  messages(): readonly ShownMessage[];
}

/** What the other layers use. */
export interface OtherTokens {
  readonly system: number;
  readonly tools: number;
  readonly event: number;
}

/** The history that fits beside everything else: the summary that it begins with, and the turns that are kept. */
export async function buildHistory(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  plan: ContextPlan,
  others: OtherTokens,
  window: ThreadWindow,
): Promise<HistoryStage> {
  const clean = isClean(resolved);
  const rooms = historyRooms(resolved, plan, others);
  const chosen = chooseTurns(resolved, window, rooms, clean);
  if (window.compaction && (!chosen || !isSummaryInPlace(resolved, window, rooms, chosen))) {
    const bare = await window.withoutSummary();
    const without = chooseTurns(resolved, bare, rooms, clean);
    if (!without) throw tooLarge(others, openTokens(resolved, bare), plan.limits.available);
    return await stage(
      deps,
      resolved,
      bare,
      { ...without, floors: [{ kind: FloorKind.SUMMARY_LEFT_OUT }, ...without.floors] },
      clean,
    );
  }
  if (!chosen) throw tooLarge(others, openTokens(resolved, window), plan.limits.available);
  return await stage(deps, resolved, window, chosen, clean);
}

export function isClean(resolved: ResolvedContext): boolean {
  return resolved.request.replay === HistoryReplay.CLEAN;
}

export function historyRooms(
  resolved: ResolvedContext,
  plan: ContextPlan,
  others: OtherTokens,
): HistoryRooms {
  const { available } = plan.limits;
  if (resolved.settings.policy !== BudgetPolicy.ELASTIC) {
    const room = plan.historyCap ?? plan.lanes.history;
    return { room, fullRoom: room };
  }
  const fullRoom = available - others.system - others.tools - others.event;
  if (fullRoom < 0) throw tooLarge(others, 0, available);
  const room = Math.max(0, fullRoom - plan.memoryReserve);
  const cap = plan.historyCap ?? Number.POSITIVE_INFINITY;
  return { room: Math.min(room, cap), fullRoom: Math.min(fullRoom, cap) };
}

function tooLarge(others: OtherTokens, openCalls: number, available: number): QuireError {
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

/** What the turn costs that cannot be left out because something in it is still open. */
function openTokens(resolved: ResolvedContext, window: ThreadWindow): number {
  return scaled(resolved.scale, window.newestFirst[0]?.tokens ?? 0);
}

async function stage(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
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
  const pending = last && last.unanswered.length > 0 && last.stored.turnId === head?.id ? "/pending" : "";
  const split = chosen.fitted ? `/${chosen.fitted.id}` : "";
  const begin = `${compaction ? `${compaction.id}+` : ""}${first?.stored.turnId ?? ""}`;
  const hasMarks = chosen.fitted !== undefined || oldestFirst.some((turn) => turn.unanswered.length > 0);
  const words = hasMarks ? wordsId(resolved.templates.texts) : "";
  const cutId = begin && `${begin}${split}${words}${clean ? "/clean" : ""}${pending}`;
  const chain = last && head ? Buffer.from(head.chainHash ?? []) : Buffer.alloc(0);
  const u = chosen.fitted ? chosen.fitted.tokens : chosen.kept.reduce((sum, turn) => sum + turn.tokens, 0);
  const tokens = scaled(resolved.scale, u + summaryCost(compaction).tokens);
  const activeTurn = oldestFirst.find((turn) => turn.isActive);
  const active = activeTurn?.stored.wires ?? [];
  const reuse = await reusable(deps, resolved, cutId, finished);
  const piecesOf = (turns: readonly WindowTurn[]): readonly Buffer[] => {
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
      cutId,
      firstTurnId: first?.stored.turnId ?? "",
      lastTurnId: last?.stored.turnId ?? "",
      chainHash: chain,
      turns: oldestFirst.length,
      droppedTurns: dropped,
      tokens,
      reused: reuse !== undefined,
      afterTurnId: reuse === undefined ? "" : finished[reuse]!.stored.turnId,
      splitMessageIndex: (first?.from ?? 0) + (chosen.fitted?.splitIndex ?? 0),
      elidedResults: chosen.fitted?.elided ?? 0,
      hash: sha256(Buffer.from(cutId), chain, ...active),
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
    hasUncounted: oldestFirst.some((turn) => turn.facts.hasUncounted),
    messages: () => shownMessages(compaction, oldestFirst, chosen, clean),
  };
}

const markNames = ["no-result", "left-out-messages", "left-out-result"] as const;

/** Stands for the words of marks in history where they are not the default ones. */
function wordsId(texts: PromptTexts): string {
  if (markNames.every((name) => texts[name] === defaultPromptTexts[name])) return "";
  const words = Buffer.from(JSON.stringify(markNames.map((name) => texts[name])));
  return `/words-${sha256(words).toString("hex").slice(0, 8)}`;
}

/** The index of the last turn that the caller holds, if what it holds is the beginning of this history. */
async function reusable(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  cutId: string,
  finished: readonly WindowTurn[],
): Promise<number | undefined> {
  const { have } = resolved.request;
  if (!have?.lastTurnId || have.cutId !== cutId || cutId.includes("/pending")) return undefined;
  const index = finished.findIndex((turn) => turn.stored.turnId === have.lastTurnId);
  // A result that was made up for the last turn held may have come after it was held.
  if (index < 0 || finished[index]!.unanswered.length > 0) return undefined;
  const row = await deps.ledger.threads.findTurn(resolved.tenantId, have.lastTurnId);
  return row?.chainHash && have.chainHash.equals(row.chainHash) ? index : undefined;
}

function candidates(
  resolved: ResolvedContext,
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
    const known = droppedTurns.reduce((sum, turn) => sum + turn.tokens, 0);
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
