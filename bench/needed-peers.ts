import { type Message, MessageRole } from "../src/contract/gen/quire/v1/message.js";
import { countTokens } from "../src/tokens/count-tokens.js";
import { type LangchainMessage, langchainMessages } from "./langchain.js";
import { textOf } from "./needed-names.js";

/** What another way would send of the same messages for the same number of tokens, as one text. */
export type NeededPeer = (messages: readonly Message[], tokens: number) => Promise<string>;

const overheadTokens = 4;
const texts = new WeakMap<Message, { readonly text: string; readonly tokens: number }>();

export function read(message: Message): { readonly text: string; readonly tokens: number } {
  let known = texts.get(message);
  if (!known) {
    const text = textOf(message);
    known = { text, tokens: countTokens(text, "o200k_base") + overheadTokens };
    texts.set(message, known);
  }
  return known;
}

/** The newest messages, from an assistant's or a user's on. */
export const windowCut: NeededPeer = async (messages, tokens) => joined(newest(messages, tokens));

/** LangChain's trimMessages, which counts what it is given again for every cut that it tries. */
export const langchain: NeededPeer = async (messages, tokens) => {
  // No more than twice what fits can be of use to it; without this a long thread takes it minutes.
  const near = newest(messages, tokens * 2);
  const original = (one: LangchainMessage) => near[Number(one.id)]!;
  const { HumanMessage, AIMessage, ToolMessage, trimMessages } = await langchainMessages();
  const convert = ({ role }: Message, at: number) => {
    const fields = { id: String(at), content: "" };
    if (role === MessageRole.USER) return new HumanMessage(fields);
    if (role === MessageRole.ASSISTANT) return new AIMessage(fields);
    return new ToolMessage({ ...fields, tool_call_id: "call" });
  };
  const kept = await trimMessages(near.map(convert), {
    maxTokens: tokens,
    strategy: "last",
    startOn: ["human", "ai"],
    tokenCounter: (some) => some.reduce((sum, one) => sum + read(original(one)).tokens, 0),
  });
  return joined(kept.map(original));
};

/**
 * What pi's compaction shows: the newest messages, and before them its lists of the files that were read and modified. Its model's own words are
 * not to be had here, so the tokens that they would take go to messages.
 */
export const piCompaction: NeededPeer = async (messages, tokens) => {
  let room = tokens;
  for (let round = 0; ; round++) {
    const kept = newest(messages, room);
    const lists = fileLists(messages.slice(0, messages.length - kept.length));
    const over =
      countTokens(lists, "o200k_base") + kept.reduce((sum, one) => sum + read(one).tokens, 0) - tokens;
    if (over <= 0 || round === 4) return `${lists}\n${joined(kept)}`;
    room -= over;
  }
};

const readers = /^(?:read|view|cat|open)/iu;
const writers = /^(?:write|edit|str_replace|create|apply|multiedit|notebookedit)/iu;

function fileLists(messages: readonly Message[]): string {
  const seen = { read: new Set<string>(), modified: new Set<string>() };
  for (const { parts } of messages)
    for (const { content } of parts) {
      if (content?.$case !== "toolCall") continue;
      const path = pathOf(content.value.argumentsJson);
      if (path === "") continue;
      if (writers.test(content.value.name)) seen.modified.add(path);
      else if (readers.test(content.value.name)) seen.read.add(path);
    }
  const only = [...seen.read].filter((path) => !seen.modified.has(path));
  return [
    `<read-files>`,
    ...only,
    `</read-files>`,
    `<modified-files>`,
    ...seen.modified,
    `</modified-files>`,
  ].join("\n");
}

function pathOf(json: string): string {
  try {
    const given = JSON.parse(json) as Readonly<Record<string, unknown>>;
    const path = given.path ?? given.file_path;
    return typeof path === "string" ? path : "";
  } catch {
    return "";
  }
}

function newest(messages: readonly Message[], tokens: number): readonly Message[] {
  let left = tokens;
  let from = messages.length;
  while (from > 0 && read(messages[from - 1]!).tokens <= left) left -= read(messages[--from]!).tokens;
  while (messages[from]?.role === MessageRole.TOOL) from++;
  return messages.slice(from);
}

function joined(messages: readonly Message[]): string {
  return messages.map((message) => read(message).text).join("\n");
}
