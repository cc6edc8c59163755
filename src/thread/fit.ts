/** The first message behind which nothing is marked. */
export interface MarksEnd {
  readonly depth: number;
  /** In the whole turn. */
  readonly messageIndex: number;
}

/** How turns are shown that are too large. The same rule makes the same bytes of the same turns, however the thread goes on. */
export interface FitRule {
  /** The first message of the first turn that is kept, among those that are shown of it. */
  readonly splitIndex: number;
  /** What is kept of the request with which a split turn begins, in tokens; undefined where it is left out with the rest. */
  readonly openingTokens: number | undefined;
  /** What a tool result, or the arguments of an answered call, may cost; undefined where they are whole. */
  readonly callTokens: number | undefined;
  /** What a text, a thought, an image or a file may cost; undefined where they are whole. */
  readonly textTokens: number | undefined;
  /** So many answered calls are left out with their results, the oldest first. */
  readonly leftOutCalls: number;
  readonly end: MarksEnd;
}

/** A rule, and what came of it. */
export interface Fit extends FitRule {
  /** By how much history costs less, as it is counted. */
  readonly savedTokens: number;
  /** Stands for the bytes of everything that is not shown as it was. */
  readonly marksHash: string;
}

/** A fit as a part of `cut_id`. */
export function fitId(fit: Fit): string {
  const { splitIndex, openingTokens, callTokens, textTokens, leftOutCalls, end, savedTokens, marksHash } =
    fit;
  const named = (letter: string, value: number | undefined) =>
    value === undefined ? [] : [`${letter}${value}`];
  return [
    ...named("s", splitIndex || undefined),
    ...named("o", openingTokens),
    ...named("c", callTokens),
    ...named("t", textTokens),
    ...named("l", leftOutCalls || undefined),
    `e${end.depth}-${end.messageIndex}`,
    `k${savedTokens}`,
    `h${marksHash}`,
  ].join(".");
}

/** Undefined where it is none, or one of a time when marks were made otherwise. */
export function parseFit(id: string): Fit | undefined {
  const values = new Map(id.split(".").map((field) => [field.slice(0, 1), field.slice(1)]));
  const number = (letter: string) => (values.has(letter) ? Number(values.get(letter)) : undefined);
  const [depth, messageIndex] = (values.get("e") ?? "").split("-").map(Number);
  const marksHash = values.get("h");
  const savedTokens = number("k");
  if (!depth || messageIndex === undefined || marksHash === undefined || savedTokens === undefined)
    return undefined;
  return {
    splitIndex: number("s") ?? 0,
    openingTokens: number("o"),
    callTokens: number("c"),
    textTokens: number("t"),
    leftOutCalls: number("l") ?? 0,
    end: { depth, messageIndex },
    savedTokens,
    marksHash,
  };
}
