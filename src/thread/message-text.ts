import type { Message, Part } from "../domain/message.js";
import { type CountedTokens, countedTokens } from "../domain/token-units.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";

/** The text of a part that counts; images, files and opaque data are counted by the provider's own rules, not here. */
function textOf(part: Part, into: string[]): void {
  const content = part.content;
  switch (content?.$case) {
    case "text":
    case "thinking":
    case "refusal":
      into.push(content.value.text);
      break;
    case "toolCall":
      into.push(content.value.name, content.value.argumentsJson);
      break;
    case "toolResult":
      for (const piece of content.value.content) {
        if (piece.content?.$case === "text") into.push(piece.content.value.text);
      }
      break;
    case "approvalRequest":
      into.push(content.value.prompt);
      break;
    case "approvalAnswer":
      into.push(content.value.reason);
      break;
    default:
      break;
  }
}

export interface MessageTokens {
  readonly parts: CountedTokens;
  readonly context: CountedTokens;
}

/** Exact counts for each message. */
export async function countMessages(
  counter: TokenCounter,
  messages: readonly Pick<Message, "parts" | "contextParts">[],
  signal?: AbortSignal,
  vocabulary: Vocabulary = "o200k_base",
): Promise<MessageTokens[]> {
  const texts: string[] = [];
  const ends: { readonly parts: number; readonly context: number }[] = [];
  for (const message of messages) {
    for (const part of message.parts) textOf(part, texts);
    const parts = texts.length;
    for (const part of message.contextParts) textOf(part, texts);
    ends.push({ parts, context: texts.length });
  }
  const counting = counter.countAll(texts, vocabulary, signal);
  const counts = counting instanceof Promise ? await counting : counting;
  const sum = (from: number, to: number) => {
    let total = 0;
    for (let at = from; at < to; at++) total += counts[at]!;
    return countedTokens(total);
  };
  let start = 0;
  return ends.map(({ parts, context }) => {
    const tokens = { parts: sum(start, parts), context: sum(parts, context) };
    start = context;
    return tokens;
  });
}

/** About how many bytes a message takes: exact for what is large. */
export function approximateBytes(message: Message): number {
  let bytes = 200 + 2 * message.contextJson.length;
  const texts: string[] = [];
  for (const part of [...message.parts, ...message.contextParts]) {
    textOf(part, texts);
    bytes += 50 + inlineBytes(part);
  }
  return texts.reduce((sum, text) => sum + text.length, bytes);
}

function inlineBytes(part: Part): number {
  return (part.providerJson?.length ?? 0) + dataBytes(part);
}

function dataBytes(part: Part): number {
  const content = part.content;
  switch (content?.$case) {
    case "opaque":
      return content.value.data.length;
    case "image":
    case "file":
      return content.value.source?.value.length ?? 0;
    case "toolResult":
      return content.value.content.reduce(
        (sum, { content: piece }) =>
          sum + (piece && piece.$case !== "text" ? (piece.value.source?.value.length ?? 0) : 0),
        0,
      );
    default:
      return 0;
  }
}
