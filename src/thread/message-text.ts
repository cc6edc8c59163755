import type { Message, Part } from "../domain/message.js";
import type { Soon } from "../domain/soon.js";
import { type CountedTokens, countedTokens, plus, sumOf } from "../domain/token-units.js";
import { conservativeTokens } from "../tokens/media/conservative-tokens.js";
import { fileMedia, imageMedia, type Media } from "../tokens/media/media.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";

/** The text of a part that counts. Opaque data is counted by the provider's own rules, not here. */
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

/** What of a part is not text: images and files, also those in a tool's result. */
function mediaOf({ content }: Part): readonly Media[] {
  if (content?.$case === "image") return [imageMedia(content.value)];
  if (content?.$case === "file") return [fileMedia(content.value)];
  return content?.$case === "toolResult" ? content.value.content.flatMap((piece) => mediaOf(piece)) : [];
}

export interface MessageTokens {
  /** With its images and files, at a figure that no model exceeds. */
  readonly parts: CountedTokens;
  readonly context: CountedTokens;
  /** What of the parts is images and files. */
  readonly media: CountedTokens;
  readonly medias: readonly SizedMedia[];
}

export type SizedMedia = Exclude<Media, { readonly kind: "text" }>;

/** Counts for each message: exact for text, which files may be, too. */
export function countMessages(
  counter: TokenCounter,
  messages: readonly Pick<Message, "parts" | "contextParts">[],
  signal?: AbortSignal,
  vocabulary: Vocabulary = "o200k_base",
): Soon<MessageTokens[]> {
  const texts: string[] = [];
  const ends: MessageEnd[] = [];
  for (const message of messages) {
    const medias: SizedMedia[] = [];
    for (const part of message.parts) {
      textOf(part, texts);
      for (const media of mediaOf(part)) {
        if (media.kind === "text") texts.push(media.text);
        else medias.push(media);
      }
    }
    const parts = texts.length;
    for (const part of message.contextParts) textOf(part, texts);
    ends.push({ parts, context: texts.length, medias });
  }
  const counting = counter.countAll(texts, vocabulary, signal);
  return counting instanceof Promise
    ? counting.then((counts) => summed(ends, counts, vocabulary))
    : summed(ends, counting, vocabulary);
}

interface MessageEnd {
  readonly parts: number;
  readonly context: number;
  readonly medias: readonly SizedMedia[];
}

/** What belongs to each message of the counts of all their texts. */
function summed(
  ends: readonly MessageEnd[],
  counts: readonly CountedTokens[],
  vocabulary: Vocabulary,
): MessageTokens[] {
  const sum = (from: number, to: number) => {
    let total = 0;
    for (let at = from; at < to; at++) total += counts[at]!;
    return countedTokens(total);
  };
  let start = 0;
  return ends.map(({ parts, context, medias }) => {
    const media = sumOf(medias, (each) => conservativeTokens(each, vocabulary));
    const tokens = { parts: plus(sum(start, parts), media), context: sum(parts, context), media, medias };
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
