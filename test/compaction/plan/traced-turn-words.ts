import { countedTokens } from "../../../src/domain/token-units.js";
import type { TracedMessage, TracedTurn } from "../../../src/thread/traced-turn.js";
import type { Random } from "../../model/random.js";
import type { Plain } from "../../support/plain.js";

/** A turn in a few words: `U10 A5+x+y T3-x T2-y A1` is a user's message of 10 tokens, two calls, their results, and what was said then. */
export function turnOf(words: string, more: Partial<Plain<TracedTurn>> = {}): TracedTurn {
  const messages = words.split(" ").map((word): TracedMessage => {
    const [, role, tokens, items] = /^([UATS])(\d*)(.*)$/.exec(word)!;
    const named = (sign: string) =>
      items!
        .split(/(?=[+-])/)
        .filter((item) => item.startsWith(sign))
        .map((item) => item.slice(1));
    const opens = named("+");
    const closes = named("-");
    return { role: role as TracedMessage["role"], tokens: countedTokens(Number(tokens || 1)), opens, closes };
  });
  return { messages, from: 0, extraTokens: 0, extraMessages: 0, dead: [], ...more } as TracedTurn;
}

/** Turns as a ledger would have them: tool loops, parallel calls, turns that wait, and calls that were given up. */
export function randomTurns(random: Random): TracedTurn[] {
  const turns: TracedTurn[] = [];
  let calls = 0;
  let open: string[] = [];
  const size = () => 1 + random.below(random.chance(0.1) ? 200 : 20);
  const call = () => {
    open = Array.from(
      { length: 1 + random.below(3) },
      () => `${random.pick(["call", "approval"])}${++calls}`,
    );
    return `A${size()}${open.map((id) => `+${id}`).join("")}`;
  };
  const answer = (count: number) =>
    open.splice(0, count).map((id) => `${id.startsWith("call") ? "T" : "U"}${size()}-${id}`);
  for (let left = random.below(14); left > 0; left--) {
    const words: string[] = random.chance(0.1) ? ["S0"] : [];
    words.push(...answer(random.below(open.length + 2)));
    const answers = words.filter((word) => !word.startsWith("S"));
    if (open.length > 0 && (answers.length === 0 || random.chance(0.5))) {
      turns[turns.length - 1] = {
        ...turns.at(-1)!,
        dead: [...open],
        extraTokens: countedTokens(3),
        extraMessages: 1,
      };
      open = [];
    }
    if (open.length === 0) {
      if (answers.length === 0 || random.chance(0.4)) words.push(`U${size()}`);
      for (let rounds = random.below(4); rounds > 0; rounds--) words.push(call(), ...answer(9));
      words.push(random.chance(0.25) ? call() : `A${size()}`);
    }
    turns.push(turnOf(words.join(" ")));
  }
  return turns;
}
