import type { FoldedTurn } from "../../src/compaction/plan/summary-task.js";
import type { Message } from "../../src/domain/message.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { assistant, user } from "./messages.js";

export const count = (text: string) => countTokens(text, "o200k_base");

/** A turn of what is to be summarized. */
export function foldedTurn(depth: number, ...messages: readonly Message[]): FoldedTurn {
  return { turnId: `turn-${depth}`, depth, createdMs: depth * 1000, messages, tokens: 100 };
}

/** So many turns of a question and an answer, each with a number of its own. */
export function chat(turns: number, words = 40): FoldedTurn[] {
  return Array.from({ length: turns }, (_, depth) =>
    foldedTurn(
      depth,
      user(`Question ${depth}: ${"where is the parcel now ".repeat(words / 5)}`),
      assistant(`Answer ${depth}: ${"it is on its way to you ".repeat(words / 5)}`),
    ),
  );
}
