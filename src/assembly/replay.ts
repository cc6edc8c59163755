import {
  AssembledContext,
  type HistoryLayer,
  Receipt,
  ToolsLayer,
} from "../contract/gen/quire/v1/assembly.js";
import { type Message, MessageRole } from "../domain/message.js";
import { defaultPromptTexts, type PromptTexts } from "../domain/prompt-texts.js";
import { QuireError } from "../errors/quire-error.js";
import { decodeMessages } from "../ledger/message-codec.js";
import { OpenState } from "../ledger/open-state.js";
import type { StoredReceipt } from "../storage/assembly/waiting-receipts.js";
import type { CompactionRow, TurnRow } from "../storage/ledger/rows.js";
import type { StoredTurnMessages } from "../storage/ledger/thread-store.js";
import type { BuiltContext } from "./build-context.js";
import type { AssemblyDeps } from "./deps.js";
import { refitTurns } from "./fit-turns.js";
import { turnPieces } from "./history-bytes.js";
import { parseTemplates } from "./templates.js";
import { callIds, givenUpBy, type WindowTurn } from "./thread-window.js";
import { countedFacts, factsFrom } from "./turn-facts.js";

/** In what a past turn is counted and worded. */
type TurnWords = Pick<WindowTurn, "vocabulary" | "texts">;

/** A past context with its layers in wire form. */
export interface ReplayedContext extends BuiltContext {
  readonly receipt: Receipt;
  readonly toolsWire: Buffer;
  readonly texts: PromptTexts;
}

export async function findReceipt(deps: AssemblyDeps, tenantId: string, id: string): Promise<StoredReceipt> {
  const stored = await deps.receipts.find(tenantId, id);
  if (!stored)
    throw new QuireError("RECEIPT_NOT_FOUND", `there is no receipt ${id}`, { metadata: { assembly_id: id } });
  return stored;
}

/** Makes a past context again from what its receipt names; the same bytes, or an error. */
export async function replayContext(
  deps: AssemblyDeps,
  tenantId: string,
  id: string,
): Promise<ReplayedContext> {
  const stored = await findReceipt(deps, tenantId, id);
  const [systemBytes, toolsWire, texts] = await Promise.all([
    deps.receipts.findBlob(tenantId, stored.systemHash),
    deps.receipts.findBlob(tenantId, stored.toolsHash),
    textsOf(deps, tenantId, stored),
  ]);
  if (!systemBytes || !toolsWire) throw expired(id, "its system prompt or its tools");
  const receipt = Receipt.decode(stored.wire);
  const context = AssembledContext.decode(stored.contextWire);
  const vocabulary = receipt.budget?.vocabulary === "cl100k_base" ? "cl100k_base" : "o200k_base";
  const history = await replayHistory(deps, tenantId, id, context.historyLayer!, { vocabulary, texts });
  return {
    receipt,
    toolsWire,
    texts,
    history,
    contextWire: stored.contextWire,
    rendered: undefined,
    rest: {
      ...context,
      systemPrompt: systemBytes.toString("utf8"),
      tools: ToolsLayer.decode(toolsWire).tools,
      sessionId: receipt.sessionId,
      floors: receipt.floors,
      cachePlan: receipt.cachePlan,
      prefix: receipt.prefix,
    },
  };
}

/** The words that models read, as they were then. */
async function textsOf(
  deps: AssemblyDeps,
  tenantId: string,
  { id, templatesHash }: StoredReceipt,
): Promise<PromptTexts> {
  if (!templatesHash) return defaultPromptTexts;
  const bytes = await deps.receipts.findBlob(tenantId, templatesHash);
  if (!bytes) throw expired(id, "its templates");
  return parseTemplates(bytes);
}

function expired(id: string, what: string): QuireError {
  return new QuireError("RECEIPT_EXPIRED", `${what} is no longer kept`, { metadata: { assembly_id: id } });
}

async function replayHistory(
  deps: AssemblyDeps,
  tenantId: string,
  id: string,
  layer: HistoryLayer,
  how: TurnWords,
): Promise<Buffer[]> {
  const clean = layer.cutId.includes("/clean");
  const active = await activeTurn(deps, tenantId, id, layer, how);
  const turns = await finishedTurns(deps, tenantId, id, layer, active, how);
  if (active) turns.push(active.turn);
  const compaction =
    layer.compactionId === "" ? undefined : await deps.ledger.compactions.find(tenantId, layer.compactionId);
  if (layer.compactionId !== "" && !compaction) throw expired(id, "its summary");
  const shown = turns.map((turn) => shownOf(turn, compaction));
  const split = layer.splitMessageIndex - (shown[0]?.from ?? 0);
  const pieces =
    split > 0 || layer.elidedResults > 0
      ? refitTurns(shown, split, layer.elidedResults, clean)
      : shown.flatMap((turn) => turnPieces(turn, clean));
  return compaction ? [Buffer.from(compaction.wire), ...pieces] : pieces;
}

/** A turn without the messages that the summary stands for. */
function shownOf(turn: WindowTurn, compaction: CompactionRow | undefined): WindowTurn {
  if (!compaction || compaction.firstKeptTurnId !== turn.stored.turnId) return turn;
  const from = compaction.firstKeptMessageIndex;
  return from === 0 ? turn : { ...turn, from, facts: factsFrom(turn.facts, from) };
}

interface ActiveThen {
  readonly turn: WindowTurn;
  /** The calls of its parent that it had given up. */
  readonly abandoned: readonly string[];
}

async function finishedTurns(
  deps: AssemblyDeps,
  tenantId: string,
  id: string,
  layer: HistoryLayer,
  active: ActiveThen | undefined,
  how: TurnWords,
): Promise<WindowTurn[]> {
  if (layer.lastTurnId === "") return [];
  const last = await deps.ledger.threads.findTurn(tenantId, layer.lastTurnId);
  if (!last?.branchId || !last.depth || !layer.chainHash.equals(last.chainHash ?? Buffer.alloc(0)))
    throw expired(id, "its history");
  const count = layer.turns - (active ? 1 : 0);
  const position = { branchId: last.branchId, depth: last.depth };
  const epoch = await deps.ledger.threads.epoch(tenantId);
  const stored: StoredTurnMessages[] = [];
  for (const segment of await deps.ledger.threads.segments(tenantId, position, last.depth - count)) {
    for await (const turns of deps.ledger.cache.read(tenantId, epoch, segment)) stored.push(...turns);
  }
  if (stored.length !== count) throw expired(id, "its history");
  let unanswered = active ? active.abandoned : layer.cutId.includes("/pending") ? openCallsOf(last) : [];
  const turns: WindowTurn[] = [];
  for (const turn of stored.toReversed()) {
    const facts = await countedFacts(deps.counter, turn, how.vocabulary);
    turns.push({ stored: turn, facts, from: 0, tokens: 0, unanswered, isActive: false, ...how });
    unanswered = await givenUpBy(deps, tenantId, turn.turnId, facts);
  }
  return turns.reverse();
}

/** The active turn as it was then: what was appended since is not part of it. */
async function activeTurn(
  deps: AssemblyDeps,
  tenantId: string,
  id: string,
  layer: HistoryLayer,
  how: TurnWords,
): Promise<ActiveThen | undefined> {
  if (layer.activeTurnId === "") return undefined;
  const [row, rows] = await Promise.all([
    deps.ledger.threads.findTurn(tenantId, layer.activeTurnId),
    deps.ledger.threads.findMessages(tenantId, layer.activeTurnId),
  ]);
  const then = rows.filter((entry) => entry.firstIndex < layer.activeMessageCount);
  const wires = then.map((entry) => Buffer.from(entry.wire));
  const indexes = then.map((entry) => entry.indexJson);
  const stored = { turnId: layer.activeTurnId, depth: 0, wires, indexes };
  const facts = await countedFacts(deps.counter, stored, how.vocabulary);
  if (!row || facts.messages.length !== layer.activeMessageCount) throw expired(id, "its active turn");
  const parent = row.parentTurnId
    ? await deps.ledger.threads.findTurn(tenantId, row.parentTurnId)
    : undefined;
  const { abandoned, open } = followCalls(
    parent ? openCallsOf(parent) : [],
    wires.flatMap((wire) => decodeMessages(wire)),
  );
  const turn = { stored, facts, from: 0, tokens: 0, unanswered: open, isActive: true, ...how };
  return { turn, abandoned };
}

function openCallsOf(turn: TurnRow): readonly string[] {
  return callIds(OpenState.parse(turn.openStateJson).open);
}

/** What becomes of the parent's open calls in the messages of a turn, and which calls they leave open. */
function followCalls(inherited: readonly string[], messages: readonly Message[]) {
  const open = new Set(inherited);
  let abandoned: readonly string[] = [];
  for (const { role, parts } of messages) {
    const answersOnly =
      role === MessageRole.TOOL || parts.every((part) => part.content?.$case === "approvalAnswer");
    if (role !== MessageRole.SYSTEM && !answersOnly && abandoned.length === 0) {
      abandoned = [...open].filter((callId) => inherited.includes(callId));
      for (const callId of abandoned) open.delete(callId);
    }
    for (const { content } of parts) {
      if (content?.$case === "toolCall") open.add(content.value.callId);
      else if (content?.$case === "toolResult") open.delete(content.value.callId);
    }
  }
  return { abandoned, open: [...open] };
}
