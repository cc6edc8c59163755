import type { PrefixUpdate } from "../../contract/gen/quire/v1/prompt_cache.js";
import type { Part } from "../../domain/message.js";
import type { ReceiptDeps } from "../../receipts/deps.js";
import type { ReceiptCore } from "../../receipts/recent-receipts.js";
import { decodeMessages } from "../../thread/message-codec.js";
import { readFacts } from "../../thread/turn-facts.js";
import { isClean } from "../history/history.js";
import type { ResolvedContext } from "../resolve/resolve.js";
import { updateHead } from "./section-update.js";

/** What of a resolved request it needs. */
export type ToldInput = Pick<
  ResolvedContext,
  "activeTurn" | "head" | "pin" | "request" | "templates" | "tenantId"
>;

export type ToldDeps = Pick<ReceiptDeps, "ledger" | "recentReceipts">;

/** What history tells of changes of the system prompt. */
export interface ToldUpdates {
  /** What was told, by section; first of all "" where that has still to be taken back. */
  readonly updates: readonly PrefixUpdate[];
  readonly tokens: number;
  /** The first turn that tells of some; empty when none does. */
  readonly turnId: string;
}

const nothing: ToldUpdates = { updates: [], tokens: 0, turnId: "" };

/** What the newest turn's receipt says that was told. What its own context told counts only where the turn was recorded with it. */
export async function toldUpdates(deps: ToldDeps, resolved: ToldInput): Promise<ToldUpdates> {
  if (isClean(resolved)) return nothing;
  const { pin, tenantId, templates } = resolved;
  const { receipt, turnId } = await newestContext(deps, resolved);
  const { updates = [], toldTokens = 0, toldTurnId = "" } = receipt?.prefix ?? {};
  const isNew = ({ tokens }: PrefixUpdate) => tokens > 0;
  const context = updates.some(isNew) ? await contextOf(deps, tenantId, turnId) : "";
  const isLost = (update: PrefixUpdate) =>
    isNew(update) && !context.includes(updateHead(templates.texts, update.section));
  const lostTokens = updates
    .filter((update) => update.section !== "" && isLost(update))
    .reduce((sum, { tokens }) => sum + tokens, 0);
  const tokens = toldTokens - lostTokens;
  const isDone = (update: PrefixUpdate) => update.section === "" && isNew(update) && !isLost(update);
  const told = updates
    .filter((update) => !isDone(update))
    .map((update) => (isLost(update) ? unknown(update.section) : update));
  return {
    updates: pin && receipt && isOther(pin.receipt, receipt) ? forgotten(pin.receipt, told) : told,
    tokens,
    turnId: tokens > 0 ? toldTurnId || turnId : "",
  };
}

/** The last context that a turn of the thread answers to, whoever the model was: all of them read the same history. */
async function newestContext(
  deps: ToldDeps,
  { tenantId, pin, activeTurn, head }: ToldInput,
): Promise<{ readonly receipt: ReceiptCore | undefined; readonly turnId: string }> {
  const turn = activeTurn?.assemblyId ? activeTurn : head;
  if (!turn?.assemblyId || turn.id === pin?.row.turnId)
    return { receipt: pin?.receipt, turnId: pin?.row.turnId ?? "" };
  return { receipt: await deps.recentReceipts.find(tenantId, turn.assemblyId), turnId: turn.id };
}

/** Whether updates for one of the two contexts are not what they would be for the other: they say what changed in another system prompt. */
function isOther(a: ReceiptCore, b: ReceiptCore): boolean {
  return !a.hashes!.system.equals(b.hashes!.system);
}

/** All that was told to this model or to another one, to be told anew. */
function forgotten(own: ReceiptCore, others: readonly PrefixUpdate[]): PrefixUpdate[] {
  const sections = [...others, ...(own.prefix?.updates ?? [])].map(({ section }) => section);
  return [...new Set(sections)].map(unknown);
}

/** A section of which nobody can say what the model takes it for. */
function unknown(section: string): PrefixUpdate {
  return { section, hash: Buffer.alloc(0), tokens: 0 };
}

/** What was sent before the content of a turn's messages. Only messages that carry some are decoded. */
async function contextOf(deps: ToldDeps, tenantId: string, turnId: string): Promise<string> {
  const rows = await deps.ledger.threads.findMessages(tenantId, turnId);
  const textOf = ({ content }: Part) => (content?.$case === "text" ? content.value.text : "");
  return rows
    .flatMap(({ wire, indexJson }) =>
      readFacts([indexJson])
        .messages.filter(({ role, sentTokens, cleanTokens }) => role === "U" && sentTokens > cleanTokens)
        .flatMap(({ start, end }) => decodeMessages(wire.subarray(start, end))),
    )
    .flatMap(({ contextParts }) => contextParts.map(textOf))
    .join("\n");
}
