import type { CompactionTurn } from "../../src/contract/gen/quire/v1/compaction.js";
import type { ContextSettings } from "../../src/contract/gen/quire/v1/context_settings.js";
import { HistoryView, type ThreadSummary } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type DeepPartial, type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import type { Quire } from "../../src/index.js";
import { recordedTurn } from "../support/found-turn.js";
import { toolCalls, toolResults, user } from "../support/messages.js";
import type { PartialContext } from "./agent.js";
import type { WrittenTurn } from "./check-context.js";
import type { FoldedContext } from "./fold.js";
import { assembleByRules, checkReplay } from "./keep-rules.js";
import { tightContext } from "./long-session.js";

/** The same, with no compaction but when it is needed. */
export function tight(
  session: string,
  historyTokens: number,
  settings: DeepPartial<ContextSettings> = {},
): PartialContext {
  return tightContext(session, historyTokens, { softThreshold: 1, ...settings });
}

export interface StreamedView {
  readonly thread: ThreadSummary;
  readonly messages: readonly Message[];
}

/** What StreamHistory gives. */
export async function view(
  quire: Quire,
  thread: { readonly session: string } | { readonly turnId: string },
  as: HistoryView,
  more: { readonly afterTurnId?: string; readonly lastTurns?: number } = {},
): Promise<StreamedView> {
  const $case = "session" in thread ? ("session" as const) : ("turnId" as const);
  const value = "session" in thread ? thread.session : thread.turnId;
  const messages: Message[] = [];
  let summary: ThreadSummary | undefined;
  for await (const batch of quire.ledger.streamHistory({ thread: { $case, value }, view: as, ...more })) {
    summary ??= batch.thread;
    messages.push(...batch.messages);
  }
  return { thread: summary!, messages };
}

/** The turns of a session's thread as the ledger has them, and an open one after them. */
export async function threadOf(quire: Quire, session: string, activeTurnId = ""): Promise<WrittenTurn[]> {
  const { messages } = await view(quire, { session }, HistoryView.FULL);
  const active = activeTurnId
    ? recordedTurn(await quire.ledger.getTurn({ turnId: activeTurnId })).result!.messages
    : [];
  const turns = new Map<string, number[]>();
  for (const { turnId, role, index } of [...messages, ...active]) {
    const spoken = turns.get(turnId) ?? [];
    turns.set(turnId, spoken);
    if (role !== MessageRole.SYSTEM) spoken.push(index);
  }
  return [...turns].map(([id, spoken]) => ({ id, spoken }));
}

export interface Compacted extends FoldedContext {
  /** The compaction that this assembly made. */
  readonly made: CompactionTurn | undefined;
}

/** Assembles, and checks every rule that every context keeps. */
export async function assembleChecked(quire: Quire, context: PartialContext): Promise<Compacted> {
  const thread = await threadOf(quire, context.session!, context.activeTurnId);
  const folded = await assembleByRules(quire, context, thread);
  if (!folded) throw new Error("what is open does not fit");
  if (!context.dryRun) await checkReplay(quire, folded);
  const last = folded.compaction.at(-1);
  return { ...folded, made: last?.$case === "finished" ? last.value : undefined };
}

/** The messages of a tool loop: a request, and so many calls with their results. */
export function loop(request: string, rounds: number, first = 1): Message[] {
  const messages: Message[] = request === "" ? [] : [user(request)];
  for (let round = first; round < first + rounds; round++) {
    const callId = `call-${round}`;
    messages.push(toolCalls(callId), padded(toolResults(callId), round));
  }
  return messages;
}

/** A result of about 100 tokens. */
function padded(message: Message, round: number): Message {
  const text = `Row ${round}: ${"a seat by the window on the morning flight, ".repeat(10)}`;
  const content = [{ content: { $case: "text" as const, value: { text } } }];
  return {
    ...message,
    parts: message.parts.map(({ content: part }) => ({
      content:
        part?.$case === "toolResult" ? { $case: "toolResult", value: { ...part.value, content } } : part,
    })),
  };
}
