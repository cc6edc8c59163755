import type { Message, Part, ToolResultContent } from "../../domain/message.js";
import type { FoldedTurn } from "../plan/summary-task.js";
import { cutPoint } from "../summarizers/transcript-entry.js";

/** No text that is shorter is ever cut. */
const shortestCut = 512;
const beginningShare = 0.7;
/** Stands where something was left out; no sentence. */
const gap = "\n…\n";

/**
 * The turns with so many characters of text in them, as far as that can be had by cutting the longest texts in the middle: what
 * is made of them takes a bounded time. Turns that have no more are given back as they are.
 */
export function boundTurns(turns: readonly FoldedTurn[], mostChars: number): readonly FoldedTurn[] {
  const lengths: number[] = [];
  for (const { messages } of turns)
    for (const { parts } of messages) for (const part of parts) mapTexts(part, (text) => note(text, lengths));
  const longest = longestAllowed(lengths, mostChars);
  if (longest === undefined) return turns;
  const cut = (text: string) => (text.length <= longest ? text : withoutMiddle(text, longest));
  return turns.map((turn) => ({
    turnId: turn.turnId,
    depth: turn.depth,
    createdMs: turn.createdMs,
    tokens: turn.tokens,
    messages: turn.messages.map(
      (message): Message => ({ ...message, parts: message.parts.map((part) => mapTexts(part, cut)) }),
    ),
  }));
}

function note(text: string, lengths: number[]): string {
  lengths.push(text.length);
  return text;
}

/** The length to which texts are cut so that all of them together have so many characters; undefined where none need be. */
function longestAllowed(lengths: readonly number[], mostChars: number): number | undefined {
  const ascending = Float64Array.from(lengths).sort();
  let left = mostChars;
  for (const [index, length] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (length > share) return Math.max(shortestCut, Math.floor(share));
    left -= length;
  }
  return undefined;
}

function withoutMiddle(text: string, longest: number): string {
  const beginning = text.slice(0, cutPoint(text, Math.floor(longest * beginningShare)));
  const end = text.slice(cutPoint(text, text.length - Math.floor(longest * (1 - beginningShare))));
  return `${beginning}${gap}${end}`;
}

/** A part with its texts changed; those that a summary is made of. */
function mapTexts(part: Part, change: (text: string) => string): Part {
  const { content } = part;
  switch (content?.$case) {
    case "text":
      return { content: { $case: "text", value: { text: change(content.value.text) } } };
    case "toolCall": {
      const argumentsJson = change(content.value.argumentsJson);
      return { content: { $case: "toolCall", value: { ...content.value, argumentsJson } } };
    }
    case "toolResult": {
      const pieces = content.value.content.map(
        (piece): ToolResultContent =>
          piece.content?.$case === "text"
            ? { content: { $case: "text", value: { text: change(piece.content.value.text) } } }
            : piece,
      );
      return { content: { $case: "toolResult", value: { ...content.value, content: pieces } } };
    }
    default:
      return part;
  }
}
