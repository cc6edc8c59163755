import type { HistoryLayer } from "../contract/gen/quire/v1/assembly.js";
import type { StoredTurn } from "../domain/stored-turn.js";
import type { LedgerDeps } from "../ledger/deps.js";
import { givenUpBy, openCallsOf } from "../ledger/open-calls.js";
import { readOpenTurn } from "../ledger/read-open-turn.js";
import { parseFit } from "../thread/fit.js";
import { turnPieces } from "../thread/history-bytes.js";
import { parseCutId } from "../thread/history-cut.js";
import { markTurns } from "../thread/marked-turns.js";
import { decodeMessages } from "../thread/message-codec.js";
import { itemKey, OpenItems, openCallIds } from "../thread/open-items.js";
import { OpenState } from "../thread/open-state.js";
import { type KeptPlace, type ShownHow, type ShownTurn, shownTurn } from "../thread/shown-turn.js";
import { countedFacts } from "../thread/turn-facts.js";
import { receiptExpired } from "./find-receipt.js";

/** What is to be shown again: the layer as its receipt has it, the summary that it began with, and how turns were shown. */
interface PastHistory {
  readonly tenantId: string;
  readonly assemblyId: string;
  readonly layer: HistoryLayer;
  readonly summary: KeptPlace | undefined;
  readonly how: ShownHow;
}

/** The bytes of a past history. */
export async function replayHistory(
  ledger: LedgerDeps,
  tenantId: string,
  assemblyId: string,
  layer: HistoryLayer,
  words: Omit<ShownHow, "clean">,
): Promise<Buffer[]> {
  const { compactionId } = layer;
  const { clean, fittedId } = parseCutId(layer.cutId);
  const summary = compactionId === "" ? undefined : await ledger.compactions.find(tenantId, compactionId);
  if (compactionId !== "" && !summary) throw receiptExpired(assemblyId, "its summary");
  const past = { tenantId, assemblyId, layer, summary, how: { ...words, clean } };
  const active = await activeTurn(ledger, past);
  const turns = await finishedTurns(ledger, past, active);
  if (active) turns.push(active.turn);
  const pieces =
    fittedId === ""
      ? turns.flatMap((turn) => turnPieces(turn, clean))
      : await refitted(ledger, past, turns, fittedId);
  return summary ? [Buffer.from(summary.wire), ...pieces] : pieces;
}

async function refitted(
  ledger: LedgerDeps,
  { assemblyId, how }: PastHistory,
  turns: readonly ShownTurn[],
  fittedId: string,
): Promise<Buffer[]> {
  const fit = parseFit(fittedId);
  const fitted = fit && (await markTurns(ledger.counter, turns, fit, how.clean));
  // A receipt of a time when marks were made otherwise.
  if (fitted?.id !== fittedId) throw receiptExpired(assemblyId, "what was left out of its turns");
  return turns.flatMap((turn) => fitted.piecesOf(turn));
}

interface ActiveThen {
  readonly turn: ShownTurn;
  /** The calls of its parent that it had given up. */
  readonly abandoned: readonly string[];
}

async function finishedTurns(
  ledger: LedgerDeps,
  { tenantId, assemblyId, layer, summary, how }: PastHistory,
  active: ActiveThen | undefined,
): Promise<ShownTurn[]> {
  if (layer.lastTurnId === "") return [];
  const last = await ledger.threads.findTurn(tenantId, layer.lastTurnId);
  if (!last?.branchId || !last.depth || !layer.chainHash.equals(last.chainHash ?? Buffer.alloc(0)))
    throw receiptExpired(assemblyId, "its history");
  const count = layer.turns - (active ? 1 : 0);
  const position = { branchId: last.branchId, depth: last.depth };
  const epoch = await ledger.threads.epoch(tenantId);
  const stored: StoredTurn[] = [];
  for (const segment of await ledger.threads.segments(tenantId, position, last.depth - count)) {
    for await (const turns of ledger.cache.read(tenantId, epoch, segment)) stored.push(...turns);
  }
  if (stored.length !== count) throw receiptExpired(assemblyId, "its history");
  const { pending } = parseCutId(layer.cutId);
  let unanswered = active ? active.abandoned : pending ? openCallsOf(last) : [];
  const turns: ShownTurn[] = [];
  for (const turn of stored.toReversed()) {
    const facts = await countedFacts(ledger.counter, turn, how.vocabulary);
    turns.push(shownTurn(turn, facts, summary, how, unanswered));
    unanswered = await givenUpBy(ledger, tenantId, turn.turnId, facts);
  }
  return turns.reverse();
}

/** The active turn as it was then: what was appended since is not part of it. */
async function activeTurn(
  ledger: LedgerDeps,
  { tenantId, assemblyId, layer, summary, how }: PastHistory,
): Promise<ActiveThen | undefined> {
  const { activeTurnId: id, activeMessageCount: messageCount } = layer;
  if (id === "") return undefined;
  const row = await ledger.threads.findTurn(tenantId, id);
  const parent = row?.parentTurnId ? await ledger.threads.findTurn(tenantId, row.parentTurnId) : undefined;
  // Marks end at a place in the thread, which may be inside this turn.
  const depth = (parent?.depth ?? 0) + 1;
  const { stored, facts } = await readOpenTurn(ledger, tenantId, { id, messageCount }, depth, how.vocabulary);
  if (!row || facts.messages.length !== messageCount) throw receiptExpired(assemblyId, "its active turn");
  const inherited = parent ? OpenState.parse(parent.openStateJson).waiting : [];
  const items = new OpenItems(inherited);
  const givenUp = new Set<string>();
  for (const message of stored.wires.flatMap((wire) => decodeMessages(wire)))
    for (const key of items.follow(message).givenUp) givenUp.add(key);
  const abandoned = openCallIds(inherited.filter((item) => givenUp.has(itemKey(item.kind, item.id))));
  return { turn: shownTurn(stored, facts, summary, how, openCallIds(items.all), true), abandoned };
}
