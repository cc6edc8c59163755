import { type Message, MessageRole } from "../../domain/message.js";
import type { SearchStore } from "../../storage/recall/search-store.js";
import { decodeMessages } from "../../thread/message-codec.js";
import { messageWords } from "../documents/message-words.js";
import { cuesOf, TextCue } from "../documents/text-cues.js";
import type { SearchHit } from "../search/search.js";
import { analyse } from "../terms/analyse.js";

/** A message beside the one that was found. */
export interface Neighbour {
  readonly role: string;
  readonly text: string;
  readonly turnId: string;
  readonly messageIndex: number;
}

/** What was found, with what it says nothing without. */
export interface Exchange {
  readonly hit: SearchHit;
  /** What it answers. */
  readonly before?: Neighbour | undefined;
  /** What answers it. */
  readonly after?: Neighbour | undefined;
}

/** A short message with fewer terms than this says little by itself. */
const fewTerms = 6;
const shortChars = 200;

/**
 * Each message that says little by itself with the one before it, and each question with the one after it. What history shows is no
 * neighbour, and a neighbour that was found, too, is shown once.
 */
export async function withExchanges(
  store: SearchStore,
  tenantId: string,
  hits: readonly SearchHit[],
  firstShownDepth: number,
): Promise<Exchange[]> {
  const needy = new Map(hits.map((hit) => [hit, needOf(hit)]));
  const asking = hits.filter((hit) => needy.get(hit) !== undefined);
  if (asking.length === 0) return hits.map((hit) => ({ hit }));
  const turns = await readTurns(store, tenantId, asking);
  const taken = new Set<string>();
  const found: Exchange[] = [];
  for (const hit of hits) {
    const { refId, messageIndex, branchId } = hit.document;
    if (branchId !== null && taken.has(`${refId}/${messageIndex}`)) continue;
    taken.add(`${refId}/${messageIndex}`);
    const need = needy.get(hit);
    const beside = need && neighbourOf(turns, hit, need, firstShownDepth);
    const key = beside && `${beside.turnId}/${beside.messageIndex}`;
    if (!beside || taken.has(key!)) found.push({ hit });
    else {
      taken.add(key!);
      found.push({ hit, [need]: beside });
    }
  }
  return found;
}

function needOf({ document, text: { text } }: SearchHit): "before" | "after" | undefined {
  if (document.branchId === null) return undefined;
  if (cuesOf(text) & TextCue.ENDS_AS_QUESTION) return "after";
  return text.length <= shortChars && analyse(text).terms.size < fewTerms ? "before" : undefined;
}

interface ReadTurn {
  readonly id: string;
  readonly depth: number;
  readonly messages: readonly Message[];
}

type Turns = ReadonlyMap<string, ReadTurn>;

const placeOf = (branchId: string, depth: number) => `${branchId} ${depth}`;

/** The turns of messages, and those beside them where a message is the first or, for all we know, the last of its turn. */
async function readTurns(store: SearchStore, tenantId: string, hits: readonly SearchHit[]): Promise<Turns> {
  const places = new Map<string, { readonly branchId: string; readonly depth: number }>();
  for (const { document } of hits)
    for (const step of [-1, 0, 1]) {
      const [branchId, depth] = [document.branchId!, document.depth! + step];
      if (step === 0 || step === 1 || document.messageIndex === 0)
        places.set(placeOf(branchId, depth), { branchId, depth });
    }
  const rows = await store.turnsAt(tenantId, [...places.values()]);
  const messages = new Map<string, Message[]>();
  for (const { turnId, wire } of await store.messages(
    tenantId,
    rows.map(({ id }) => id),
  ))
    messages.set(turnId, [...(messages.get(turnId) ?? []), ...decodeMessages(wire)]);
  return new Map(
    rows.map(({ id, branchId, depth }) => [
      placeOf(branchId, depth),
      { id, depth, messages: messages.get(id) ?? [] },
    ]),
  );
}

function neighbourOf(
  turns: Turns,
  { document }: SearchHit,
  need: "before" | "after",
  firstShownDepth: number,
): Neighbour | undefined {
  const { branchId, depth, messageIndex } = document;
  const own = turns.get(placeOf(branchId!, depth!));
  const step = need === "before" ? -1 : 1;
  const isInside = own?.messages[messageIndex + step] !== undefined;
  const turn = isInside ? own : turns.get(placeOf(branchId!, depth! + step));
  if (!turn || turn.messages.length === 0 || (firstShownDepth > 0 && turn.depth >= firstShownDepth))
    return undefined;
  const at = isInside ? messageIndex + step : step < 0 ? turn.messages.length - 1 : 0;
  const message = turn.messages[at]!;
  const text = message.role === MessageRole.SYSTEM ? "" : messageWords(message).trim();
  return text === "" ? undefined : { role: message.role, text, turnId: turn.id, messageIndex: at };
}
