import type { CountTokens, FoldedTurn } from "./summarizer.js";
import { cutPoint, type TranscriptEntry, transcriptEntries } from "./transcript-entry.js";

/** Long entries are counted and cut in pieces of this size. */
const LONGEST_PIECE = 8_000;
const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g;

/**
 * The turns as plain text for a model that summarizes them.
 * - All lines of an entry but its first are indented: no content can pass for the words of someone else.
 * - Calls and approvals that nobody answered are marked as open, with their ids.
 * - Thinking and opaque parts are left out, long tool results and arguments are clipped in the middle.
 */
export function transcriptOf(turns: readonly FoldedTurn[]): string {
  const texts = transcriptEntries(turns).map((entries) => entries.map(lineOf).join(""));
  return texts.join("\n").trimEnd();
}

export interface TranscriptReader {
  /** Nothing is left to read. */
  readonly done: boolean;
  /**
   * What comes next, in at most so many tokens: whole turns where they fit, else a piece of one. A limit that
   * has no room for the name of a speaker and a character is not kept.
   */
  next(maxTokens: number): string;
}

interface PricedEntry extends TranscriptEntry {
  readonly tokens: number;
}

/** Reads the transcript of turns in chunks; how large a chunk may be is settled when it is read. */
export function transcriptReader(turns: readonly FoldedTurn[], count: CountTokens): TranscriptReader {
  const price = (entry: TranscriptEntry): PricedEntry => ({ ...entry, tokens: count(lineOf(entry)) });
  const waiting = transcriptEntries(turns);
  let turn: PricedEntry[] = [];
  let begun = false;

  function next(maxTokens: number): string {
    let chunk = "";
    let left = maxTokens;
    for (;;) {
      if (turn.length === 0) {
        const following = waiting.shift();
        if (following === undefined) return chunk;
        turn = following.flatMap(piecesOf).map(price);
        begun = false;
      }
      if (!begun && chunk !== "") {
        const gapTokens = count("\n");
        if (turn.reduce((sum, entry) => sum + entry.tokens, gapTokens) > left) return chunk;
        chunk += "\n";
        left -= gapTokens;
      }
      begun = true;
      while (turn.length > 0) {
        const entry = turn.shift()!;
        if (entry.tokens > left) {
          if (chunk !== "") {
            turn.unshift(entry);
            return chunk;
          }
          const [head, rest] = cutEntry(entry, left, price);
          if (rest.text !== "") turn.unshift(price(rest));
          return lineOf(head);
        }
        chunk += lineOf(entry);
        left -= entry.tokens;
      }
    }
  }

  return {
    get done() {
      return turn.length === 0 && waiting.length === 0;
    },
    next,
  };
}

function lineOf({ head, text }: TranscriptEntry): string {
  return `${`${head}${text}`.replace(LINE_BREAK, "\n  ")}\n`;
}

function continued({ head }: TranscriptEntry, text: string): TranscriptEntry {
  return { head: `${head.replace(/( \(continued\))?:? $/, "")} (continued): `, text };
}

function piecesOf(entry: TranscriptEntry): TranscriptEntry[] {
  const pieces: TranscriptEntry[] = [];
  let rest = entry;
  while (rest.text.length > LONGEST_PIECE) {
    const at = cutPoint(rest.text, LONGEST_PIECE);
    pieces.push({ head: rest.head, text: rest.text.slice(0, at) });
    rest = continued(entry, rest.text.slice(at));
  }
  return [...pieces, rest];
}

/** The beginning of an entry that is within the tokens, at least a character of it, and the rest. */
function cutEntry(
  entry: PricedEntry,
  maxTokens: number,
  price: (entry: TranscriptEntry) => PricedEntry,
): readonly [TranscriptEntry, TranscriptEntry] {
  let head = entry;
  while (head.tokens > maxTokens && head.text.length > 2) {
    const share = Math.floor((head.text.length * maxTokens) / head.tokens);
    const length = Math.max(2, Math.min(head.text.length - 1, share));
    head = price({ head: entry.head, text: entry.text.slice(0, cutPoint(entry.text, length)) });
  }
  return [head, continued(entry, entry.text.slice(head.text.length))];
}
