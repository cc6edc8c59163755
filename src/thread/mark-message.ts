import {
  ElidedContent,
  type Message,
  type Part,
  type ToolResultContent,
  textPart,
} from "../domain/message.js";
import { fill, type PromptTextName, type PromptTexts } from "../domain/prompt-texts.js";
import { type CountedTokens, countedTokens, minus, plus } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { clipArguments } from "./clip-arguments.js";
import { type CountText, clipText, type Marks } from "./clip-text.js";
import { type ElidablePart, isOfCall } from "./elidable-parts.js";
import { countMessages } from "./message-text.js";

/** What the parts of a message may cost. */
export interface Caps {
  readonly callTokens: number | undefined;
  readonly textTokens: number | undefined;
  /** Calls that are left out with their results. */
  readonly leftOut: ReadonlySet<string>;
  /** Calls that still wait for an answer: nothing of them is left out. */
  readonly open: ReadonlySet<string>;
  /** Whether thinking that is signed stays: in a loop that goes on, a model must find it as it was. */
  readonly keepsThinking: boolean;
  /** What is called by an id; for the marks. */
  callName(callId: string): string;
}

/** A part that is not shown as it was. */
export interface ElidedPart extends Pick<ElidablePart, "content" | "partIndex" | "callId" | "tokens"> {
  readonly shownTokens: CountedTokens;
}

/** A message with marks. */
export interface MarkedMessage {
  readonly message: Message;
  /** What its parts and its context cost, in the vocabulary that its turn is counted with. */
  readonly tokens: CountedTokens;
  readonly contextTokens: CountedTokens;
  readonly elided: readonly ElidedPart[];
}

interface MarkedHow {
  readonly counter: TokenCounter;
  readonly vocabulary: Vocabulary;
  readonly texts: PromptTexts;
}

/** Whether the caps take something of a part, as far as its size says. */
export function mayMark(part: ElidablePart, message: Message | undefined, caps: Caps): boolean {
  if (part.callId !== "" && caps.leftOut.has(part.callId)) return true;
  if (part.content === ElidedContent.TOOL_ARGUMENTS && caps.open.has(part.callId)) return false;
  if (part.content === ElidedContent.THINKING && caps.keepsThinking && isSigned(message, part)) return false;
  const most = isOfCall(part) ? caps.callTokens : caps.textTokens;
  return most !== undefined && part.tokens > most;
}

function isSigned(message: Message | undefined, { partIndex }: ElidablePart): boolean {
  const content = message?.parts[partIndex]?.content;
  return content?.$case !== "thinking" || content.value.signature !== "";
}

/** The message as the caps show it; undefined where they take nothing. */
export async function markMessage(
  how: MarkedHow,
  message: Message,
  parts: readonly ElidablePart[],
  tokens: Pick<MarkedMessage, "tokens" | "contextTokens">,
  caps: Caps,
): Promise<MarkedMessage | undefined> {
  const shown: (Part | undefined)[] = [...message.parts];
  const context: (Part | undefined)[] = [...message.contextParts];
  const elided: ElidedPart[] = [];
  let { o200kTokens, contextO200kTokens } = message;
  let own = tokens.tokens;
  let ofContext = tokens.contextTokens;
  let leftOut = parts.filter(
    ({ content, callId }) => content === ElidedContent.TOOL_ARGUMENTS && caps.leftOut.has(callId),
  ).length;
  for (const part of parts) {
    if (!mayMark(part, message, caps)) continue;
    const list = part.isContext ? context : shown;
    const before = list[part.partIndex]!;
    const isLeftOut = part.callId !== "" && caps.leftOut.has(part.callId);
    let after: Part | undefined;
    if (!isLeftOut) after = await shortened(how, before, part, caps);
    else if (part.content === ElidedContent.TOOL_ARGUMENTS && leftOut > 0) {
      after = textPart(fill(how.texts["left-out-calls"], { count: leftOut }));
      leftOut = 0;
    }
    const was = await costOf(how, before, part);
    const is = after ? await costOf(how, after) : { tokens: countedTokens(0), o200kTokens: countedTokens(0) };
    // A mark may be longer than what it stands for.
    if (!isLeftOut && is.tokens >= was.tokens) continue;
    list[part.partIndex] = after;
    if (part.isContext) {
      ofContext = plus(minus(ofContext, was.tokens), is.tokens);
      contextO200kTokens += is.o200kTokens - was.o200kTokens;
    } else {
      own = plus(minus(own, was.tokens), is.tokens);
      o200kTokens += is.o200kTokens - was.o200kTokens;
    }
    const { partIndex, callId } = part;
    const content = isLeftOut ? ElidedContent.TOOL_CALL : part.content;
    elided.push({ content, partIndex, callId, tokens: was.tokens, shownTokens: is.tokens });
  }
  if (elided.length === 0) return undefined;
  const kept = (list: readonly (Part | undefined)[]) => list.filter((part) => part !== undefined);
  return {
    message: {
      ...message,
      parts: kept(shown),
      contextParts: kept(context),
      o200kTokens,
      contextO200kTokens,
    },
    tokens: own,
    contextTokens: ofContext,
    elided,
  };
}

interface PartCost {
  readonly tokens: CountedTokens;
  readonly o200kTokens: CountedTokens;
}

/** What a whole part costs: known for one that was counted, but for the name of a call. */
async function costOf(
  { counter, vocabulary }: MarkedHow,
  part: Part,
  counted?: ElidablePart,
): Promise<PartCost> {
  if (counted) {
    const name = part.content?.$case === "toolCall" ? part.content.value.name : "";
    return {
      tokens: plus(counted.tokens, countTokens(name, vocabulary)),
      o200kTokens: plus(counted.o200kTokens, countTokens(name, "o200k_base")),
    };
  }
  const holder = [{ parts: [part], contextParts: [] }];
  const [own] = await countMessages(counter, holder, undefined, vocabulary);
  const [o200k] =
    vocabulary === "o200k_base" ? [own] : await countMessages(counter, holder, undefined, "o200k_base");
  return { tokens: own!.parts, o200kTokens: o200k!.parts };
}

/** A part that costs no more than its cap, or little more than a mark. */
async function shortened(
  { counter, vocabulary, texts }: MarkedHow,
  part: Part,
  { tokens, callId }: ElidablePart,
  caps: Caps,
): Promise<Part> {
  const count: CountText = (text) => counter.count(text, vocabulary);
  const marks = (name: PromptTextName, more: Readonly<Record<string, string>> = {}): Marks => ({
    leftOut: (leftOut) => fill(texts[name], { tokens: leftOut, ...more }),
    names: (names) => fill(texts["left-out-names"], { names }),
  });
  const { callTokens = 0, textTokens = 0 } = caps;
  const { content } = part;
  const clipped = (text: string, of = tokens as number) =>
    clipText(text, of, textTokens, marks("left-out-text"), count);
  switch (content?.$case) {
    case "toolResult": {
      const ofResult = marks("left-out-result", { call: caps.callName(callId) });
      const text = await clipText(resultText(content.value.content), tokens, callTokens, ofResult, count);
      return { content: { $case: "toolResult", value: { ...content.value, content: [textPart(text)] } } };
    }
    case "toolCall": {
      const { name, argumentsJson: json } = content.value;
      const ofCall = marks("left-out-arguments", { call: shortName(name) });
      const argumentsJson = await clipArguments(json, tokens, callTokens, ofCall, count);
      return { content: { $case: "toolCall", value: { ...content.value, argumentsJson } } };
    }
    case "text":
      return textPart(await clipped(content.value.text));
    case "approvalRequest": {
      const prompt = await clipped(content.value.prompt);
      return { content: { $case: "approvalRequest", value: { ...content.value, prompt } } };
    }
    case "approvalAnswer": {
      const reason = await clipped(content.value.reason);
      return { content: { $case: "approvalAnswer", value: { ...content.value, reason } } };
    }
    case "thinking":
      return textPart(marks("left-out-thinking").leftOut(tokens));
    case "image":
    case "file":
      return textPart(
        marks("left-out-attachment", { kind: texts[`body-kind-${content.$case}`] }).leftOut(tokens),
      );
    default:
      return part;
  }
}

function resultText(content: readonly ToolResultContent[]): string {
  return content
    .flatMap(({ content: piece }) => (piece?.$case === "text" ? [piece.value.text] : []))
    .join("\n");
}

const longestName = 64;

/** A tool's name as marks have it. */
export function shortName(name: string): string {
  return name.length > longestName ? `${name.slice(0, longestName)}...` : name;
}
