import { type CutLimits, type CutTurn, chooseCut } from "../budget/cut.js";
import { messageOverheadTokens, scaled, unscaled } from "../budget/token-scale.js";
import type { Candidate, HistoryLayer } from "../contract/gen/quire/v1/assembly.js";
import { HistoryReplay } from "../contract/gen/quire/v1/assembly.js";
import { BudgetPolicy } from "../domain/context-settings.js";
import { sha256 } from "../domain/hash.js";
import { MessageRole } from "../domain/message.js";
import { QuireError } from "../errors/quire-error.js";
import { decodeMessages } from "../ledger/message-codec.js";
import type { CompactionRow } from "../storage/ledger/rows.js";
import { historyCandidate } from "./candidates.js";
import type { AssemblyDeps } from "./deps.js";
import { type FittedTurns, fitTurns } from "./fit-turns.js";
import { turnPieces, unansweredTokens } from "./history-bytes.js";
import type { ContextPlan } from "./plan.js";
import type { ResolvedContext } from "./resolve.js";
import { laneExceeded } from "./strict.js";
import type { ThreadWindow, WindowTurn } from "./thread-window.js";

export interface HistoryStage {
  readonly layer: HistoryLayer;
  /** The messages that are sent, as stored bytes: all of them, or those that the caller lacks. */
  pieces(): readonly Buffer[];
  /** All of them, whatever the caller has. */
  allPieces(): readonly Buffer[];
  readonly tokens: number;
  readonly candidates: readonly Candidate[];
  readonly floors: readonly string[];
  /** The turns of which something is shown, oldest first. */
  readonly shown: readonly WindowTurn[];
  /** Whether something in it is not counted: images and files. */
  readonly hasUncounted: boolean;
  /** Every message that is shown. */
  messages(): readonly ShownMessage[];
}

/** A message of the history, as a cache sees it. */
export interface ShownMessage {
  readonly turnId: string;
  readonly isAssistant: boolean;
  readonly o200kTokens: number;
}

interface Chosen {
  /** Newest first. */
  readonly kept: readonly WindowTurn[];
  /** The kept turns, where they had to be cut to fit. */
  readonly fitted: FittedTurns | undefined;
  readonly floors: readonly string[];
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
  const chosen = choose(resolved, window, rooms, clean);
  if (!chosen) throw tooLarge(others, openTokens(resolved, window), plan.limits.available);
  return await stage(deps, resolved, window, chosen, clean);
}

export function isClean(resolved: ResolvedContext): boolean {
  return resolved.request.replay === HistoryReplay.CLEAN;
}

/** What history may use, in the model's tokens. */
export interface HistoryRooms {
  /** Beside the memory's reserve. */
  readonly room: number;
  /** When memory gives way. */
  readonly fullRoom: number;
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

/** Undefined where what is still open does not fit. */
function choose(
  resolved: ResolvedContext,
  window: ThreadWindow,
  { room, fullRoom }: HistoryRooms,
  clean: boolean,
): Chosen | undefined {
  const { scale, settings } = resolved;
  const { newestFirst } = window;
  const newest = newestFirst[0];
  if (!newest) return { kept: [], fitted: undefined, floors: [] };
  const turns = newestFirst.map(cutTurn);
  const summary = summaryCost(window.compaction);
  const limits = {
    tokens: unscaled(scale, room) - summary.tokens,
    messages: (settings.maxMessages ?? Number.POSITIVE_INFINITY) - summary.messages,
  };
  if (settings.policy === BudgetPolicy.STRICT_FAIL) requireWhole(resolved, turns, limits);
  const wanted = Math.min(settings.keepTurns, newestFirst.length);
  const keptBy = (cut: number | undefined) => (cut === undefined ? 0 : cut + 1);
  const whole = (count: number, floors: readonly string[]) => ({
    kept: newestFirst.slice(0, count),
    fitted: undefined,
    floors,
  });
  const cut = chooseCut(turns, limits, window.wholeThread);
  if (keptBy(cut) >= wanted) return whole(keptBy(cut), []);

  const fullLimits = { ...limits, tokens: unscaled(scale, fullRoom) - summary.tokens };
  const wider = chooseCut(turns, fullLimits, window.wholeThread);
  if (keptBy(wider) >= wanted) return whole(keptBy(wider), ["memory gave way"]);
  const fewer = (count: number) => (count < wanted ? [`keep_turns ${count}`] : []);
  if (wider !== undefined) return whole(keptBy(wider), fewer(keptBy(wider)));

  const begin = newestFirst.findIndex((turn) => turn.facts.startsClean);
  const group = newestFirst.slice(0, begin < 0 ? newestFirst.length : begin + 1);
  const fitted = fitTurns(group.toReversed(), fullLimits.tokens, fullLimits.messages, clean);
  if (fitted)
    return {
      kept: fitted.turns.toReversed(),
      fitted,
      floors: [...fewer(fitted.turns.length), ...fitted.floors],
    };
  if (newest.isActive || newest.unanswered.length > 0) return undefined;
  return { kept: [], fitted: undefined, floors: [...fewer(0), "no turn fits"] };
}

/** Under STRICT_FAIL, a thread that is over the lane fails, even where a window of it would fit. */
function requireWhole(resolved: ResolvedContext, turns: readonly CutTurn[], limits: CutLimits): void {
  const kept = chooseCut(turns, { ...limits, tokens: Number.POSITIVE_INFINITY }, false);
  const tokens = turns
    .slice(0, kept === undefined ? 0 : kept + 1)
    .reduce((sum, turn) => sum + turn.tokens, 0);
  if (tokens > limits.tokens)
    throw laneExceeded("history", scaled(resolved.scale, tokens), scaled(resolved.scale, limits.tokens));
}

/** What a summary costs at the beginning of history, in o200k tokens. */
export function summaryCost(compaction: CompactionRow | undefined): CutLimits {
  return compaction
    ? { tokens: compaction.summaryTokens + messageOverheadTokens, messages: 1 }
    : { tokens: 0, messages: 0 };
}

function cutTurn(turn: WindowTurn): CutTurn {
  return {
    depth: turn.stored.depth,
    tokens: turn.tokens,
    messages: turn.facts.spokenMessages + (turn.unanswered.length > 0 ? 1 : 0),
    startsClean: turn.facts.startsClean,
  };
}

async function stage(
  deps: AssemblyDeps,
  resolved: ResolvedContext,
  window: ThreadWindow,
  chosen: Chosen,
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
  const cutId = begin && `${begin}${split}${clean ? "/clean" : ""}${pending}`;
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
    floors: [...foldedFloors(resolved, compaction, oldestFirst), ...chosen.floors],
    shown: oldestFirst,
    hasUncounted: oldestFirst.some((turn) => turn.facts.hasUncounted),
    messages: () => shownMessages(compaction, oldestFirst, chosen, clean),
  };
}

function shownMessages(
  compaction: CompactionRow | undefined,
  oldestFirst: readonly WindowTurn[],
  { fitted }: Chosen,
  clean: boolean,
): ShownMessage[] {
  const message = (turnId: string, isAssistant: boolean, o200kTokens: number): ShownMessage => ({
    turnId,
    isAssistant,
    o200kTokens,
  });
  const summary = compaction ? [message(compaction.id, false, summaryCost(compaction).tokens)] : [];
  const ofTurn = (turn: WindowTurn): ShownMessage[] => {
    const { turnId } = turn.stored;
    // What was split or elided is no longer what the index says.
    if (fitted) {
      return fitted.piecesOf(turn).flatMap((piece) =>
        decodeMessages(piece).map(({ role, o200kTokens, contextO200kTokens }) => {
          const tokens = o200kTokens + contextO200kTokens + messageOverheadTokens;
          return message(turnId, role === MessageRole.ASSISTANT, tokens);
        }),
      );
    }
    const spoken = turn.facts.messages.filter((facts) => facts.role !== "S");
    return [
      ...spoken.map((facts) =>
        message(turnId, facts.role === "A", clean ? facts.cleanTokens : facts.sentTokens),
      ),
      ...(turn.unanswered.length > 0
        ? [message(turnId, false, unansweredTokens(turn.unanswered.length))]
        : []),
    ];
  };
  return [...summary, ...oldestFirst.flatMap(ofTurn)];
}

/** Why fewer of the last turns are whole than should be, where it was the compaction that had to give way. */
function foldedFloors(
  resolved: ResolvedContext,
  compaction: CompactionRow | undefined,
  shown: readonly WindowTurn[],
): readonly string[] {
  const whole = shown.filter((turn) => turn.from === 0).length;
  if (!compaction || whole >= resolved.settings.keepTurns) return [];
  return JSON.parse(compaction.floorsJson) as string[];
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
  chosen: Chosen,
  tokens: number,
): Candidate[] {
  const found: Candidate[] = [];
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
        rule: "compaction",
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
        rule: "window",
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
        rule: "window",
        detail: chosen.floors.join("; "),
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
        rule: "one system prompt",
        detail: `in ${withSystem} turns`,
      }),
    );
  }
  return found;
}
