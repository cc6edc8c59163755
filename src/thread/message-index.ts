import { type Message, MessageRole, type PartContent } from "../domain/message.js";
import { type CountedTokens, countedTokens } from "../domain/token-units.js";

/** What is known of a message without decoding it: a letter for its role, counts, flags and its size. */
export interface IndexEntry {
  readonly role: RoleLetter;
  /** o200k tokens of its parts, and of the context that was sent before them. */
  readonly tokens: CountedTokens;
  readonly contextTokens: CountedTokens;
  readonly flags: number;
  /** With its tag and length. */
  readonly bytes: number;
}

export type RoleLetter = "S" | "U" | "A" | "T" | "?";

const roleLetters: Readonly<Record<MessageRole, RoleLetter>> = {
  [MessageRole.UNSPECIFIED]: "?",
  [MessageRole.SYSTEM]: "S",
  [MessageRole.USER]: "U",
  [MessageRole.ASSISTANT]: "A",
  [MessageRole.TOOL]: "T",
  [MessageRole.UNRECOGNIZED]: "?",
};

/** What a message holds, as bits. They are stored: a bit keeps its meaning. */
export const MessageFlag = {
  TOOL_CALL: 1,
  TOOL_RESULT: 2,
  APPROVAL_REQUEST: 4,
  APPROVAL_ANSWER: 8,
  THINKING: 16,
  OPAQUE: 32,
  IMAGE: 64,
  FILE: 128,
  /** In the first entry of a piece: the turn gave up calls of the turn before. */
  ABANDONS: 256,
} as const;

const flagOf: Readonly<Record<PartContent["$case"], number>> = {
  text: 0,
  thinking: MessageFlag.THINKING,
  toolCall: MessageFlag.TOOL_CALL,
  toolResult: MessageFlag.TOOL_RESULT,
  approvalRequest: MessageFlag.APPROVAL_REQUEST,
  approvalAnswer: MessageFlag.APPROVAL_ANSWER,
  image: MessageFlag.IMAGE,
  file: MessageFlag.FILE,
  opaque: MessageFlag.OPAQUE,
  refusal: 0,
};

const answerFlags = MessageFlag.TOOL_RESULT | MessageFlag.APPROVAL_ANSWER;
const itemFlags = answerFlags | MessageFlag.TOOL_CALL | MessageFlag.APPROVAL_REQUEST;
const mediaFlags = MessageFlag.IMAGE | MessageFlag.FILE;

type Flagged = Pick<IndexEntry, "flags">;

export const answersSomething = ({ flags }: Flagged): boolean => (flags & answerFlags) !== 0;
export const opensOrAnswers = ({ flags }: Flagged): boolean => (flags & itemFlags) !== 0;
/** Images and files cost what a formula says, which may be wrong. */
export const holdsMedia = ({ flags }: Flagged): boolean => (flags & mediaFlags) !== 0;
export const abandonsCalls = ({ flags }: Flagged): boolean => (flags & MessageFlag.ABANDONS) !== 0;

/** What the index says of a message that takes so many bytes. */
export function indexEntry(message: Message, bytes: number, moreFlags = 0): IndexEntry {
  let flags = moreFlags;
  for (const { content } of message.parts) {
    flags |= content ? flagOf[content.$case] : 0;
    if (content?.$case !== "toolResult") continue;
    for (const { content: piece } of content.value.content) flags |= piece ? flagOf[piece.$case] : 0;
  }
  return {
    role: roleLetters[message.role],
    tokens: countedTokens(message.o200kTokens),
    contextTokens: countedTokens(message.contextO200kTokens),
    flags,
    bytes,
  };
}

/** An index as it is stored: a list for each message, in this order. */
export function writeIndex(entries: readonly IndexEntry[]): string {
  return JSON.stringify(
    entries.map(({ role, tokens, contextTokens, flags, bytes }) => [
      role,
      tokens,
      contextTokens,
      flags,
      bytes,
    ]),
  );
}

type StoredEntry = [RoleLetter, CountedTokens, CountedTokens, number, number];

export function readIndex(json: string): IndexEntry[] {
  return (JSON.parse(json) as StoredEntry[]).map(([role, tokens, contextTokens, flags, bytes]) => ({
    role,
    tokens,
    contextTokens,
    flags,
    bytes,
  }));
}
