import { type Message, MessageRole, type Part } from "../../../src/contract/gen/quire/v1/message.js";
import { messageWords } from "../../../src/recall/documents/message-words.js";
import { generatedSessions } from "../../needed-generator.js";
import { readSessions, type Sessions } from "../../needed-sessions.js";
import type { Collection, Saying, Wanted } from "../collection.js";

const writing = /^(?:write|edit|multiedit|create|str_replace\w*|apply_patch)$/iu;
/** A file that was written more often is not found by one question. */
const mostWrites = 5;
const mostQuestions = 150;
const minuteMs = 60_000;
const begunMs = Date.UTC(2026, 0, 5, 9);

/** Sessions of programmers: which message wrote a file, by its path, by the words that came with it, and by the names in it. */
export function codeCollections(): Collection[] {
  const { sessions } = readSessions();
  return (
    [...sessions, generatedSessions()]
      .filter(({ kind }) => kind !== "tau-bench")
      // What is made up is said in words that have nothing to do with it.
      .flatMap((kind) => [byPath(kind), ...(kind.kind === "generated" ? [] : [byWords(kind)]), byNames(kind)])
  );
}

interface Written {
  readonly id: string;
  readonly path: string;
  readonly content: string;
  /** What was said with the call. */
  readonly words: string;
}

interface Told {
  readonly sessions: readonly (readonly Saying[])[];
  readonly written: readonly Written[];
}

/** Each message by itself, without the words that came with a write: they are what is asked with. */
function tell({ threads }: Sessions): Told {
  const written: Written[] = [];
  const sessions = threads.map((turns, thread) => {
    const messages = turns.flatMap((turn) => turn.messages).filter(({ role }) => role !== MessageRole.SYSTEM);
    return messages.flatMap((message, at): Saying[] => {
      const id = `${thread}/${at}`;
      const calls = message.parts.flatMap(writeOf);
      for (const call of calls) written.push({ id, words: wordsOf(message), ...call });
      const parts =
        calls.length > 0 ? message.parts.filter(({ content }) => content?.$case !== "text") : message.parts;
      const text = messageWords({ parts });
      return text.trim() === "" ? [] : [{ id, text, timeMs: begunMs + at * minuteMs }];
    });
  });
  return { sessions, written };
}

function writeOf({ content }: Part): { readonly path: string; readonly content: string }[] {
  if (content?.$case !== "toolCall" || !writing.test(content.value.name)) return [];
  const given = parsed(content.value.argumentsJson);
  const path = [given.path, given.file_path, given.filename].find((one) => typeof one === "string");
  const text = [given.content, given.newText, given.new_string, given.file_text, given.new_str].find(
    (one) => typeof one === "string",
  );
  return path ? [{ path: path as string, content: (text as string | undefined) ?? "" }] : [];
}

function parsed(json: string): Record<string, unknown> {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function wordsOf({ parts }: Message): string {
  return parts.flatMap(({ content }) => (content?.$case === "text" ? [content.value.text] : [])).join(" ");
}

function collection(name: string, { sessions }: Told, wanted: readonly Wanted[]): Collection {
  const some = wanted.filter((_, at) => at % Math.ceil(wanted.length / mostQuestions) === 0);
  const askedMs = begunMs + 30 * 86_400_000;
  return { agent: name, sessions, wanted: some, askedMs };
}

function byPath(kind: Sessions): Collection {
  const told = tell(kind);
  const idsOf = new Map<string, Set<string>>();
  for (const { id, path } of told.written) idsOf.set(path, (idsOf.get(path) ?? new Set()).add(id));
  const wanted = [...idsOf]
    .filter(([, ids]) => ids.size <= mostWrites)
    .map(([path, ids]) => ({ query: `Where did you write ${path}?`, evidence: [...ids] }));
  return collection(`code: ${kind.kind}, a file by its path`, told, wanted);
}

function byWords(kind: Sessions): Collection {
  const told = tell(kind);
  const wanted = told.written
    .filter(({ words }) => words.split(/\s+/u).length >= 5)
    .map(({ id, words }) => ({ query: words.slice(0, 300), evidence: [id] }));
  return collection(`code: ${kind.kind}, a change by what was said of it`, told, wanted);
}

/** Two names of a file, as a person types what is half remembered: in words, and in small letters. */
function byNames(kind: Sessions): Collection {
  const told = tell(kind);
  const wanted = told.written.flatMap(({ id, content }): Wanted[] => {
    const names = [...new Set(content.match(/\b\p{Ll}+(?:\p{Lu}\p{Ll}+)+\w*/gu))].slice(0, 2);
    if (names.length < 2) return [];
    const words = names.map((name) => name.replaceAll(/(\p{Lu}|\d+)/gu, " $1").toLowerCase());
    return [{ query: `the code of ${words.join(" and ")}`, evidence: [id] }];
  });
  return collection(`code: ${kind.kind}, a change by names in it`, told, wanted);
}
