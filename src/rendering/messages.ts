import {
  type Message,
  MessageRole,
  type Part,
  type PartContent,
  type ToolCallPart,
  type ToolResultContent,
  type ToolResultPart,
  textPart,
} from "../domain/message.js";
import { defaultPromptTexts, fill, type PromptTexts } from "../domain/prompt-texts.js";
import { approvalText, type Family, familyOf, resultText, sentParts } from "./part-words.js";
import { serverToolText } from "./server-tools.js";

export * from "./part-words.js";

/** A call with the one result that answers it. */
export interface PairedCall {
  readonly call: ToolCallPart;
  /** The call's id in this body: valid for the provider, and of no other call in it. */
  readonly id: string;
  readonly result: ToolResultPart;
  /** Which message gave the result; the call's own where none was recorded. */
  readonly resultIndex: number;
}

/**
 * A piece of the conversation in the order in which every provider takes it: the results of calls directly after the
 * assistant messages that made them. Neighbours of the same role are left apart.
 *
 * - `system` and `user` hold only text, image, file and opaque parts;
 * - `assistant` holds text, thinking, toolCall, image, file and opaque parts; `calls` has one entry for each toolCall,
 *   in order;
 * - `tool` has the calls of all the assistant steps directly before it. A `tool` step always follows an `assistant` one.
 *
 * `index` is the message that the step was made from.
 */
export type Step =
  | { readonly role: "system" | "user"; readonly index: number; readonly parts: readonly Part[] }
  | {
      readonly role: "assistant";
      readonly index: number;
      readonly parts: readonly Part[];
      readonly calls: readonly PairedCall[];
      /** Whether the model was asked for it directly after the step before. */
      readonly prompted: boolean;
    }
  | { readonly role: "tool"; readonly calls: readonly PairedCall[] };

type OpenCall = { -readonly [key in keyof PairedCall]: PairedCall[key] } & {
  /** The call before with the same id that has no result either. */
  namesake: OpenCall | undefined;
};

/**
 * Puts a conversation in the order of `Step`. A result belongs to the last call of its id that has none yet; one
 * without a call becomes the user's text, and a call without one gets an error that says so. Approvals become the
 * user's text after the results. `newId` is asked once for each call, in order. `family` is who the body is for: what tools of
 * other providers did, and why others gave no answer, becomes text.
 */
export function pairedCalls(
  messages: readonly Message[],
  newId: (callId: string) => string,
  texts: PromptTexts = defaultPromptTexts,
  family?: Family,
): readonly Step[] {
  const pairing = new Pairing(newId, texts, family);
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]!;
    if (message.role === MessageRole.ASSISTANT) pairing.assistant(message, index);
    else pairing.other(message, index);
  }
  pairing.endRun();
  return pairing.steps;
}

const noCalls: readonly PairedCall[] = [];

class Pairing {
  readonly steps: Step[] = [];
  private readonly open = new Map<string, OpenCall>();
  private readonly tools = new Map<string, string>();
  /** The calls of the assistant messages directly before, and what is to come after their results. */
  private run: OpenCall[] = [];
  /** Those of the last step of tools. */
  private ended: readonly OpenCall[] = [];
  private after: { readonly role: "user"; readonly index: number; readonly parts: Part[] }[] = [];

  private readonly unanswered: ToolResultPart;

  constructor(
    private readonly newId: (callId: string) => string,
    private readonly texts: PromptTexts,
    private readonly family: Family | undefined,
  ) {
    const content = [{ content: { $case: "text" as const, value: { text: texts["no-result"] } } }];
    this.unanswered = { callId: "", content, isError: true };
  }

  assistant(message: Message, index: number): void {
    if (message.contextParts.length > 0) this.told(message.contextParts, index);
    const sent = this.inWords(message.parts);
    let calls: OpenCall[] | undefined;
    let after: Part[] | undefined;
    for (const { content } of sent) {
      if (content === undefined) continue;
      if (content.$case === "toolCall") {
        const opened = this.opened(content.value, index);
        if (calls === undefined) calls = [opened];
        else calls.push(opened);
      } else if (isAside(content)) {
        after ??= [];
        this.aside(content, index, after);
      }
    }
    const parts = after ? sent.filter(({ content }) => content && !isAside(content)) : sent;
    this.steps.push({ role: "assistant", index, parts, calls: calls ?? noCalls, prompted: message.prompted });
    if (after && after.length > 0) this.after.push({ role: "user", index, parts: after });
  }

  other(message: Message, index: number): void {
    this.endRun();
    if (message.role === MessageRole.USER && message.parts.length === 0) {
      if (message.contextParts.length > 0) this.told(message.contextParts, index);
      return;
    }
    const sent = sentParts(message);
    const role = message.role === MessageRole.SYSTEM ? "system" : "user";
    if (sent.every(isPlain)) {
      if (sent.length > 0) this.steps.push({ role, index, parts: sent });
      return;
    }
    const kept: Part[] = [];
    for (const part of sent) {
      const content = part.content;
      if (isPlain(part)) kept.push(part);
      else if (content?.$case === "toolCall") {
        const { name, argumentsJson } = content.value;
        kept.push(textPart(fill(this.texts["body-call"], { name, arguments: argumentsJson })));
      } else if (content !== undefined && isAside(content)) this.aside(content, index, kept);
    }
    if (kept.length > 0) this.steps.push({ role, index, parts: kept });
  }

  /**
   * What the model was told in a tool loop stands at the end of the last result: with a message of the user a new turn would begin, and providers
   * leave out what was thought before that.
   */
  private told(parts: readonly Part[], index: number): void {
    const isAfterResults = this.run.length === 0 && this.steps.at(-1)?.role === "tool";
    const call = isAfterResults ? this.ended.findLast(({ result }) => result !== this.unanswered) : undefined;
    if (!call) {
      this.endRun();
      this.steps.push({ role: "user", index, parts });
      return;
    }
    const told = parts.filter(isResultContent);
    call.result = { ...call.result, content: [...call.result.content, ...told] };
  }

  endRun(): void {
    if (this.run.length > 0) {
      this.steps.push({ role: "tool", calls: this.run });
      this.ended = this.run;
      this.run = [];
    }
    if (this.after.length > 0) {
      this.steps.push(...this.after);
      this.after = [];
    }
  }

  /** What only the provider that made it understands, in words for the others. */
  private inWords(parts: readonly Part[]): readonly Part[] {
    const isAsItIs = ({ content }: Part) => content?.$case !== "opaque" && content?.$case !== "refusal";
    if (this.family === undefined || parts.every(isAsItIs)) return parts;
    return parts.map((part) => {
      const { content } = part;
      const isOther = content && (content.$case === "opaque" || content.$case === "refusal");
      if (!isOther || familyOf(content.value.provider) === this.family) return part;
      if (content.$case === "refusal") {
        const { reason, text } = content.value;
        return textPart(fill(this.texts["body-refusal"], { reason, text }).trimEnd());
      }
      const text = serverToolText(this.texts, content.value);
      return text === undefined ? part : textPart(text);
    });
  }

  private opened(call: ToolCallPart, index: number): OpenCall {
    const id = this.newId(call.callId);
    const namesake = this.open.get(call.callId);
    const opened: OpenCall = { call, id, result: this.unanswered, resultIndex: index, namesake };
    this.run.push(opened);
    this.open.set(call.callId, opened);
    return opened;
  }

  /** Answers a call, or writes down in words what is neither a call nor plain. */
  private aside(content: Aside, index: number, words: Part[]): void {
    switch (content.$case) {
      case "toolResult":
        this.answer(content.value, index, words);
        break;
      case "approvalRequest": {
        const { approvalId, callId } = content.value;
        const tool = this.open.get(callId)?.call.name ?? "";
        this.tools.set(approvalId, tool);
        words.push(textPart(approvalText(this.texts, content.value, tool)));
        break;
      }
      case "approvalAnswer": {
        const tool = this.tools.get(content.value.approvalId) ?? "";
        words.push(textPart(approvalText(this.texts, content.value, tool)));
      }
    }
  }

  private answer(result: ToolResultPart, index: number, words: Part[]): void {
    const last = this.open.get(result.callId);
    if (last === undefined) {
      words.push(...orphan(this.texts, result));
      return;
    }
    // Calls of one message that share an id are answered in their order.
    let call = last;
    let later: OpenCall | undefined;
    while (call.namesake?.resultIndex === last.resultIndex) {
      later = call;
      call = call.namesake;
    }
    if (later !== undefined) later.namesake = call.namesake;
    else if (call.namesake === undefined) this.open.delete(result.callId);
    else this.open.set(result.callId, call.namesake);
    call.result = result;
    call.resultIndex = index;
  }
}

type Aside = Extract<PartContent, { $case: "toolResult" | "approvalRequest" | "approvalAnswer" }>;

function isAside(content: PartContent): content is Aside {
  const kind = content.$case;
  return kind === "toolResult" || kind === "approvalRequest" || kind === "approvalAnswer";
}

function isResultContent(part: Part): part is ToolResultContent {
  const kind = part.content?.$case;
  return kind === "text" || kind === "image" || kind === "file";
}

function isPlain({ content }: Part): boolean {
  const kind = content?.$case;
  return kind === "text" || kind === "image" || kind === "file" || kind === "opaque";
}

function orphan(texts: PromptTexts, result: ToolResultPart): Part[] {
  const text = fill(texts["body-orphan-result"], { text: resultText(result) });
  const parts: Part[] = [textPart(text.trimEnd())];
  for (const { content } of result.content) if (content && content.$case !== "text") parts.push({ content });
  return parts;
}
