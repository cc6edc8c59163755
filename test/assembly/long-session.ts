import type { AssembleResponse } from "../../src/contract/gen/quire/v1/assembly_service.js";
import type {
  CompactionEvent,
  CompactionFailed,
  CompactionTurn,
} from "../../src/contract/gen/quire/v1/compaction.js";
import type { ContextSettings } from "../../src/contract/gen/quire/v1/context_settings.js";
import { HistoryView, ThreadSummary } from "../../src/contract/gen/quire/v1/ledger_service.js";
import type { DeepPartial, Message } from "../../src/contract/gen/quire/v1/message.js";
import type { Quire } from "../../src/index.js";
import type { Streamed } from "../model/streamed.js";
import { assistant, user } from "../support/messages.js";
import { contextRequest, exactModel, type PartialContext, putAgent } from "./agent.js";
import { type FoldedContext, fold } from "./fold.js";

/** A turn of about 100 tokens that says which one it is. */
export function plainTurn(number: number): Message[] {
  const words = "the parcel left the house by the river and nobody saw where it went ".repeat(3);
  return [
    user(`Question ${number}: ${words}`),
    assistant(`Answer ${number}: we asked around, and ${words.slice(0, 100)}`),
  ];
}

/** Records turns one after the other, from the given number on, in answer to an assembly if one is named. Gives the head. */
export async function growSession(
  quire: Quire,
  session: string,
  numbers: readonly [first: number, last: number],
  parentTurnId = "",
  turnOf: (number: number) => Message[] = plainTurn,
  assemblyId = "",
): Promise<string> {
  let head = parentTurnId;
  for (let number = numbers[0]; number <= numbers[1]; number++) {
    const { turn } = await quire.ledger.recordTurn({
      session,
      parentTurnId: head,
      messages: turnOf(number),
      assemblyId,
    });
    head = turn!.id;
  }
  return head;
}

/** The agent, and a session of so many turns. */
export async function longSession(
  quire: Quire,
  label: string,
  turns: number,
  turnOf?: (number: number) => Message[],
): Promise<string> {
  await putAgent(quire);
  await quire.ledger.createSession({ label });
  return growSession(quire, label, [1, turns], "", turnOf);
}

/** A request whose history may have so many tokens. */
export function tightContext(
  session: string,
  historyTokens: number,
  settings: DeepPartial<ContextSettings> = {},
): PartialContext {
  const modelLimits = [{ model: exactModel, maxTokens: 50_000_000, memoryTokens: 0, historyTokens }];
  return contextRequest(session, exactModel, { settings: { ...settings, modelLimits } });
}

export interface Assembled extends FoldedContext {
  /** What the stream said about compactions, in order. */
  readonly notices: readonly NonNullable<CompactionEvent["event"]>[];
  readonly finished: CompactionTurn | undefined;
  readonly failed: CompactionFailed | undefined;
}

/** A context, with what its stream said about compactions. */
export async function assembled(events: AsyncIterable<AssembleResponse>): Promise<Assembled> {
  const notices: NonNullable<CompactionEvent["event"]>[] = [];
  async function* noted() {
    for await (const response of events) {
      if (response.event?.$case === "compaction") notices.push(response.event.value.event!);
      yield response;
    }
  }
  const folded = await fold(noted());
  const of = <Case extends (typeof notices)[number]["$case"]>(name: Case) =>
    notices.find((notice) => notice.$case === name)?.value;
  return {
    ...folded,
    notices,
    finished: of("finished") as CompactionTurn | undefined,
    failed: of("failed") as CompactionFailed | undefined,
  };
}

/** Every turn of a thread, whatever was compacted. */
export async function wholeThread(quire: Quire, session: string): Promise<Streamed> {
  const messages: Message[] = [];
  let thread = ThreadSummary.create();
  const request = { thread: { $case: "session" as const, value: session }, view: HistoryView.FULL };
  for await (const batch of quire.ledger.streamHistory(request)) {
    messages.push(...batch.messages);
    thread = batch.thread ?? thread;
  }
  return { thread, messages };
}

/** The compactions in force on a session's thread, the newest first. */
export async function compactionsOf(quire: Quire, session: string): Promise<CompactionTurn[]> {
  const found: CompactionTurn[] = [];
  for (let pageToken = ""; ; ) {
    const page = await quire.ledger.listTurns({ session, pageSize: 1_000, pageToken });
    found.push(...page.compactions);
    pageToken = page.nextPageToken;
    if (pageToken === "") return found;
  }
}

/** The text of a message's first part. */
export function textOf({ parts }: Message): string {
  const content = parts[0]?.content;
  return content?.$case === "text" ? content.value.text : "";
}
