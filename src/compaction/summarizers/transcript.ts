import { defaultPromptTexts, fill, type PromptTexts } from "../../domain/prompt-texts.js";
import type { CountTokens, FoldedTurn } from "../plan/summary-task.js";
import { cutPoint, type TranscriptEntry, transcriptEntries } from "./transcript-entry.js";

/** Long entries are counted and cut in pieces of this size. */
const longestPiece = 8_000;
const lineBreak = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g;

/**
 * The turns as plain text for a model that summarizes them.
 * - All lines of an entry but its first are indented: no content can pass for the words of someone else.
 * - Calls and approvals that nobody answered are marked as open, with their ids.
 * - Thinking and opaque parts are left out, long tool results and arguments are clipped in the middle.
 */
export function transcriptOf(turns: readonly FoldedTurn[], texts: PromptTexts = defaultPromptTexts): string {
  const written = transcriptEntries(turns, texts).map((entries) => entries.map(lineOf).join(""));
  return written.join("\n").trimEnd();
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

/** A piece of a transcript and what it costs. */
export interface PricedEntry extends TranscriptEntry {
  readonly tokens: number;
}

/** The transcript of turns in pieces that are counted, turn by turn. What comes after so many tokens is left out. */
export function pricedTranscript(
  turns: readonly FoldedTurn[],
  count: CountTokens,
  texts: PromptTexts = defaultPromptTexts,
  mostTokens = Number.POSITIVE_INFINITY,
): PricedEntry[][] {
  const priced: PricedEntry[][] = [];
  let left = mostTokens;
  for (const entries of transcriptEntries(turns, texts)) {
    const pieces: PricedEntry[] = [];
    for (const entry of entries) {
      for (const piece of piecesOf(entry, texts)) {
        if (left < 0) break;
        const tokens = count(lineOf(piece));
        pieces.push({ ...piece, tokens });
        left -= tokens;
      }
    }
    if (pieces.length > 0) priced.push(pieces);
  }
  return priced;
}

/** Reads a transcript in chunks; how large a chunk may be is settled when it is read. */
export function transcriptReader(
  turns: readonly (readonly PricedEntry[])[],
  count: CountTokens,
  texts: PromptTexts = defaultPromptTexts,
): TranscriptReader {
  const price = (entry: TranscriptEntry): PricedEntry => ({ ...entry, tokens: count(lineOf(entry)) });
  let turn = 0;
  let at = 0;
  /** What is left of the entry at the place, where some of it was read. */
  let cut: PricedEntry | undefined;

  function next(maxTokens: number): string {
    let chunk = "";
    let left = maxTokens;
    for (; turn < turns.length; turn++, at = 0) {
      const entries = turns[turn]!;
      if (at === 0 && cut === undefined && chunk !== "") {
        const gapTokens = count("\n");
        if (entries.reduce((sum, entry) => sum + entry.tokens, gapTokens) > left) return chunk;
        chunk += "\n";
        left -= gapTokens;
      }
      for (; at < entries.length; at++, cut = undefined) {
        const entry = cut ?? entries[at]!;
        if (entry.tokens > left) {
          if (chunk !== "") return chunk;
          const [head, rest] = cutEntry(entry, left, price, texts);
          if (rest.text !== "") cut = price(rest);
          else step();
          return lineOf(head);
        }
        chunk += lineOf(entry);
        left -= entry.tokens;
      }
    }
    return chunk;
  }

  function step(): void {
    cut = undefined;
    at++;
    if (at < turns[turn]!.length) return;
    turn++;
    at = 0;
  }

  return {
    get done() {
      return turn === turns.length;
    },
    next,
  };
}

function lineOf({ speaker, joint, text }: TranscriptEntry): string {
  return `${`${speaker}${joint}${text}`.replace(lineBreak, "\n  ")}\n`;
}

function continued(entry: TranscriptEntry, text: string, texts: PromptTexts): TranscriptEntry {
  if (entry.isContinued) return { ...entry, text };
  const speaker = fill(texts["transcript-continued"], { speaker: entry.speaker });
  return { speaker, joint: ": ", text, isContinued: true };
}

function piecesOf(entry: TranscriptEntry, texts: PromptTexts): TranscriptEntry[] {
  const pieces: TranscriptEntry[] = [];
  let rest = entry;
  while (rest.text.length > longestPiece) {
    const at = cutPoint(rest.text, longestPiece);
    pieces.push({ ...rest, text: rest.text.slice(0, at) });
    rest = continued(rest, rest.text.slice(at), texts);
  }
  return [...pieces, rest];
}

/** The beginning of an entry that is within the tokens, at least a character of it, and the rest. */
function cutEntry(
  entry: PricedEntry,
  maxTokens: number,
  price: (entry: TranscriptEntry) => PricedEntry,
  texts: PromptTexts,
): readonly [TranscriptEntry, TranscriptEntry] {
  let head = entry;
  while (head.tokens > maxTokens && head.text.length > 2) {
    const share = Math.floor((head.text.length * maxTokens) / head.tokens);
    const length = Math.max(2, Math.min(head.text.length - 1, share));
    head = price({ ...entry, text: entry.text.slice(0, cutPoint(entry.text, length)) });
  }
  return [head, continued(entry, entry.text.slice(head.text.length), texts)];
}
