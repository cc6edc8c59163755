import { isDeepStrictEqual } from "node:util";
import { type Json, Refused } from "./provider.js";

/** What the model does next, whatever its provider calls it. */
export interface Step {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly name: string; readonly input: Json }[];
}

/** What somebody said: one block of a message, or a tool's result. */
export interface Said {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
}

/** What a model reads of a body: who said what, in order, and the names of the tools. */
export interface Situation {
  /** The number of the answer. */
  readonly number: number;
  readonly said: readonly Said[];
  readonly tools: readonly string[];
}

export type Script = (situation: Situation) => Step;

/**
 * A user is answered by calls, two at once at every third time; results are followed by one more call at every fourth time, and else by
 * words. Without tools there are only words.
 */
export const busyScript: Script = ({ number, said, tools }) => {
  const isAfterResults = said.at(-1)?.role === "tool";
  const thinking = `Thought ${number}: what is known so far?`;
  const tool = tools[number % Math.max(1, tools.length)] ?? "";
  const call = (part: number) => ({
    name: tool,
    input: {
      query: `question ${number}.${part}`,
      share: 0.5,
      tags: ["a", "ü"],
    },
  });
  const goesOn = isAfterResults ? number % 4 === 0 : true;
  if (tools.length === 0 || !goesOn)
    return { text: `Answer ${number}. ${"It is so. ".repeat(12)}`, thinking, calls: [] };
  const calls = number % 3 === 0 ? [call(1), call(2)] : [call(1)];
  return { text: `I look it up (${number}).`, thinking, calls };
};

/**
 * A model that does what it is told: `read_file {"path": "a.txt"}` in the user's words is a call, "then" begins the calls of the next step,
 * and what the last tools returned is its answer. The user's words are the last block of the newest message; what stands before them in the
 * same message (what was recalled, or changed since) is read and not obeyed.
 */
export const obedientScript: Script = ({ number, said, tools }) => {
  const from = said.findLastIndex(({ role }) => role === "user");
  const asked = said[from]?.text ?? "";
  const since = said.slice(from + 1);
  const round = since.filter(({ role }, at) => role === "tool" && since[at - 1]?.role !== "tool").length;
  const calls = asked.split(/[,;.]?\s+then\s+/)[round] ?? "";
  const found = callsIn(calls, tools);
  const thinking = `Thought ${number}: what was I told to do?`;
  if (found.length > 0) return { text: `I do that (${number}).`, thinking, calls: found };
  const results = since.filter(({ role }) => role === "tool").map(({ text }) => text);
  const text = results.length > 0 ? results.join(" | ").slice(0, 400) : `I have nothing to do (${number}).`;
  return { text: text || "Nothing came back.", thinking, calls: [] };
};

/** The calls that a text spells out: the name of a tool, and its arguments as JSON. */
function callsIn(text: string, tools: readonly string[]): Step["calls"] {
  const found: { name: string; input: Json }[] = [];
  const word = /([A-Za-z0-9_./-]+)\s*(?=\{)/g;
  for (let match = word.exec(text); match; match = word.exec(text)) {
    const end = objectEnd(text, word.lastIndex);
    if (end === undefined) continue;
    const input = parsed(text.slice(word.lastIndex, end));
    if (input === undefined) continue;
    if (tools.includes(match[1]!)) found.push({ name: match[1]!, input });
    word.lastIndex = end;
  }
  return found;
}

function parsed(json: string): Json | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function objectEnd(text: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
    } else if (text[at] === "{") depth++;
    else if (text[at] === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}

/** What a provider gave, by something that only it has; so that it can be told whether it comes back as it was. */
export class Issued {
  private readonly answers: Json[][] = [];
  private readonly byKey = new Map<string, { readonly answer: number; readonly offset: number }>();

  constructor(private readonly keyOf: (item: Json) => string | undefined) {}

  keep(items: readonly Json[]): void {
    items.forEach((item, offset) => {
      const key = this.keyOf(item);
      if (key !== undefined) this.byKey.set(key, { answer: this.answers.length, offset });
    });
    this.answers.push([...items]);
  }

  /** The items of a request in their order: what was issued must be there whole, unchanged and in its order. */
  check(items: readonly Json[]): void {
    for (let at = 0; at < items.length; ) {
      const key = this.keyOf(items[at]);
      const known = key === undefined ? undefined : this.byKey.get(key);
      if (known === undefined) {
        at++;
        continue;
      }
      const whole = this.answers[known.answer]!;
      const first = at - known.offset;
      const found = items.slice(Math.max(0, first), first + whole.length);
      if (!isDeepStrictEqual(found, whole)) {
        throw new Refused(
          `an answer came back changed: ${JSON.stringify(found)} instead of ${JSON.stringify(whole)}`,
        );
      }
      at = first + whole.length;
    }
  }
}
