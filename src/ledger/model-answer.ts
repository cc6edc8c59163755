import type { Message, Part, ToolCallPart } from "../domain/message.js";
import { MessageRole } from "../domain/message.js";
import { type ReadAnswer, type TokenUsage, TurnStatus } from "../domain/turn.js";
import type { OpenState } from "../thread/open-state.js";
import type { LocatedMessage } from "./check-messages.js";
import type { MessageDraft } from "./turn-draft.js";

/** What a provider answered, as messages. Calls without an id of their own have one from `callWithoutId`. */
export interface ModelAnswer {
  /** The model's message; behind it, what the calls get that were cut off. */
  readonly messages: readonly Message[];
  readonly stopReason: string;
  readonly usage: TokenUsage | undefined;
  readonly model: string;
}

/** What a write adds besides its messages. */
export interface Answered {
  /** Tools' outputs as one message. It comes first. */
  readonly resultsMessage?: Message | undefined;
  /** It comes last. */
  readonly modelAnswer?: ModelAnswer | undefined;
}

const responseField = "response.body";
/** No id that a provider gives holds it. */
const placeholder = "\0";

/** Stands for the id of a call that the provider gave none, until it is known which turn it is in. */
export function callWithoutId(position: number): string {
  return placeholder + position;
}

/** All messages of a write, in their order. */
export function withAnswered(
  located: readonly LocatedMessage[],
  { resultsMessage, modelAnswer }: Answered,
): readonly LocatedMessage[] {
  const before: LocatedMessage[] = resultsMessage
    ? [
        {
          message: resultsMessage,
          field: "tool_results",
          pathOf: (index) => `tool_results[${index}].call_id`,
        },
      ]
    : [];
  const after = (modelAnswer?.messages ?? []).map((message) => ({ message, field: responseField }));
  return [...before, ...located, ...after];
}

/** The draft with ids for the calls that have none: derived from their turn and their position in it. */
export function withCallIds(draft: MessageDraft, turnId: string, firstIndex: number): MessageDraft {
  if (!draft.located.some(({ message }) => message.parts.some(hasNoId))) return draft;
  const located = draft.located.map((entry, index) => {
    const { message } = entry;
    if (!message.parts.some(hasNoId)) return entry;
    // Results stand directly behind the calls that they are for.
    const callIndex = message.role === MessageRole.TOOL ? index - 1 : index;
    const idOf = (id: string) => derivedId(turnId, firstIndex + callIndex, id.slice(placeholder.length));
    return { ...entry, message: { ...message, parts: message.parts.map((part) => withId(part, idOf)) } };
  });
  return { ...draft, located };
}

function derivedId(turnId: string, messageIndex: number, position: string): string {
  const turn = Buffer.from(turnId.replaceAll("-", ""), "hex").toString("base64url");
  return `call_${turn}_${messageIndex}_${position}`;
}

function hasNoId({ content }: Part): boolean {
  if (content?.$case !== "toolCall" && content?.$case !== "toolResult") return false;
  return content.value.callId.startsWith(placeholder);
}

function withId(part: Part, idOf: (id: string) => string): Part {
  const { content } = part;
  if (!hasNoId(part)) return part;
  if (content?.$case === "toolCall") {
    return {
      ...part,
      content: { ...content, value: { ...content.value, callId: idOf(content.value.callId) } },
    };
  }
  if (content?.$case === "toolResult") {
    return {
      ...part,
      content: { ...content, value: { ...content.value, callId: idOf(content.value.callId) } },
    };
  }
  return part;
}

/** How a turn ends where nobody says: with a model's calls to carry out, it waits for them. */
export function endOf(status: TurnStatus, { modelAnswer }: Answered, state: OpenState): TurnStatus {
  if (status !== TurnStatus.UNSPECIFIED) return status;
  return modelAnswer && state.open.length > 0 ? TurnStatus.AWAITING : TurnStatus.COMPLETED;
}

/** What was read, for the caller. */
export function readAnswer({ located }: MessageDraft, { modelAnswer }: Answered): ReadAnswer | undefined {
  if (!modelAnswer) return undefined;
  const messages = located.flatMap(({ message, field }) => (field === responseField ? [message] : []));
  const parts = messages.flatMap((message) => message.parts);
  const texts: string[] = [];
  const calls: ToolCallPart[] = [];
  const cutOff = new Set<string>();
  let refusal: ReadAnswer["refusal"];
  for (const { content } of parts) {
    if (content?.$case === "text") texts.push(content.value.text);
    else if (content?.$case === "toolCall") calls.push(content.value);
    else if (content?.$case === "toolResult") cutOff.add(content.value.callId);
    else if (content?.$case === "refusal") refusal ??= content.value;
  }
  const { stopReason, usage, model } = modelAnswer;
  const toolCalls = calls.filter(({ callId }) => !cutOff.has(callId));
  return { text: texts.join(""), toolCalls, stopReason, usage, refusal, model };
}
