import { isDeepStrictEqual } from "node:util";
import { type Json, Refused } from "./provider.js";

/** What the model does next, whatever its provider calls it. */
export interface Step {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly { readonly name: string; readonly input: Json }[];
}

/**
 * The script: a user is answered by calls, two at once at every third time; results are followed by one more call at every fourth time, and
 * else by words. Without tools there are only words.
 */
export function nextStep(number: number, isAfterResults: boolean, tools: readonly string[]): Step {
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
}

/** What a provider gave, by something that only it has; so that it can be told whether it comes back as it was. */
export class Issued {
  private readonly answers: Json[][] = [];
  private readonly byKey = new Map<string, number>();

  constructor(private readonly keyOf: (item: Json) => string | undefined) {}

  keep(items: readonly Json[]): void {
    for (const item of items) {
      const key = this.keyOf(item);
      if (key !== undefined) this.byKey.set(key, this.answers.length);
    }
    this.answers.push([...items]);
  }

  /** The items of a request in their order: what was issued must be there whole, unchanged and in its order. */
  check(items: readonly Json[]): void {
    for (let at = 0; at < items.length; ) {
      const key = this.keyOf(items[at]);
      const answer = key === undefined ? undefined : this.byKey.get(key);
      if (answer === undefined) {
        at++;
        continue;
      }
      const whole = this.answers[answer]!;
      const found = items.slice(at, at + whole.length);
      if (!isDeepStrictEqual(found, whole)) {
        throw new Refused(
          `an answer came back changed: ${JSON.stringify(found)} instead of ${JSON.stringify(whole)}`,
        );
      }
      at += whole.length;
    }
  }
}
