import { ElidedContent, type Message, type Part, type PartContent } from "../domain/message.js";
import { type CountedTokens, countedTokens, minus } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { bytesOf } from "./history-bytes.js";
import { decodeMessages } from "./message-codec.js";
import { messageOverheadTokens } from "./message-overhead.js";
import { countMessages } from "./message-text.js";
import type { ShownTurn } from "./shown-turn.js";
import type { MessageFacts } from "./turn-facts.js";

/** A message of one of several turns. */
export interface MessagePlace {
  readonly turn: number;
  /** Among the messages of the turn that are shown. */
  readonly index: number;
  readonly facts: MessageFacts;
}

/** A part of a message of which something may be left out. */
export interface ElidablePart {
  readonly content: ElidedContent;
  /** Among the message's parts, or among those of the context that was sent with it. */
  readonly partIndex: number;
  readonly isContext: boolean;
  /** The call that it is of; empty for what is of none. */
  readonly callId: string;
  /** What can be left out of it, in the vocabulary that its turn is counted with, and in o200k. */
  readonly tokens: CountedTokens;
  readonly o200kTokens: CountedTokens;
}

/** Whether it gives way before everything else. */
export function isOfCall({ content }: Pick<ElidablePart, "content">): boolean {
  return content === ElidedContent.TOOL_RESULT || content === ElidedContent.TOOL_ARGUMENTS;
}

const known = new WeakMap<MessageFacts, readonly ElidablePart[]>();

/** The parts of a message with what each costs; kept as long as the turn is. A part that stands alone is not counted again. */
export async function elidableParts(
  counter: TokenCounter,
  turn: ShownTurn,
  facts: MessageFacts,
): Promise<readonly ElidablePart[]> {
  const kept = known.get(facts);
  if (kept) return kept;
  const message = decodeMessages(bytesOf(turn, facts))[0]!;
  const { vocabulary } = turn;
  const sizes = await partTokens(counter, message, facts, vocabulary);
  const o200k =
    vocabulary === "o200k_base" ? sizes : await partTokens(counter, message, undefined, "o200k_base");
  const found: ElidablePart[] = [];
  const all = [...message.parts, ...message.contextParts];
  all.forEach(({ content }, at) => {
    const isContext = at >= message.parts.length;
    const kind = isContext ? ElidedContent.CONTEXT : content && contentOf(content);
    if (!content || !kind) return;
    const name = content.$case === "toolCall" ? content.value.name : "";
    found.push({
      content: kind,
      partIndex: isContext ? at - message.parts.length : at,
      isContext,
      callId: content.$case === "toolCall" || content.$case === "toolResult" ? content.value.callId : "",
      tokens: minus(sizes[at]!, countTokens(name, vocabulary)),
      o200kTokens: minus(o200k[at]!, countTokens(name, "o200k_base")),
    });
  });
  known.set(facts, found);
  return found;
}

function contentOf(content: PartContent): ElidedContent | undefined {
  switch (content.$case) {
    case "toolResult":
      return ElidedContent.TOOL_RESULT;
    case "toolCall":
      return ElidedContent.TOOL_ARGUMENTS;
    case "thinking":
      return ElidedContent.THINKING;
    case "image":
    case "file":
      return ElidedContent.ATTACHMENT;
    case "opaque":
      return undefined;
    default:
      return ElidedContent.TEXT;
  }
}

/** What each part costs, and then each of the context. */
async function partTokens(
  counter: TokenCounter,
  message: Message,
  facts: MessageFacts | undefined,
  vocabulary: Vocabulary,
): Promise<readonly CountedTokens[]> {
  const { parts, contextParts } = message;
  if (parts.length === 1 && contextParts.length === 0)
    return [facts ? minus(facts.cleanTokens, messageOverheadTokens) : countedTokens(message.o200kTokens)];
  const single = [...parts, ...contextParts].map((part: Part) => ({
    ...message,
    parts: [part],
    contextParts: [],
  }));
  return (await countMessages(counter, single, undefined, vocabulary)).map((counts) => counts.parts);
}
