import type { DescEnum } from "@bufbuild/protobuf";
import type { BytesRules, EnumRules, NumberRules, TextRules } from "../../../contract/rules.js";

/** What is wrong with a value, in words that follow the field's name; undefined when nothing is. */
export type ValueCheck<T> = (value: T) => string | undefined;

/** Patterns of the contract that can be told in words, and are faster looked for than matched. */
const knownPatterns: ReadonlyMap<string, { readonly finds: RegExp; readonly words: string }> = new Map([
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  ["^\\P{Cc}*$", { finds: /[\u0000-\u001f\u007f-\u009f]/, words: "holds a control character" }],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the same
  ["^[^\\x00]*$", { finds: /\u0000/, words: "holds a NUL character" }],
]);

export function textCheck(rules: TextRules): ValueCheck<string> {
  const { minLen = 0, maxLen, minBytes = 0, maxBytes, pattern } = rules;
  const tooShort =
    minLen + minBytes === 1
      ? "is required"
      : `must have at least ${minLen > 0 ? `${minLen} characters` : `${minBytes} bytes`}`;
  const checks: ValueCheck<string>[] = [];
  if (minLen > 0) checks.push((text) => (hasCharacters(text, minLen) ? undefined : tooShort));
  if (minBytes > 0) checks.push((text) => (Buffer.byteLength(text) >= minBytes ? undefined : tooShort));
  if (maxLen !== undefined) {
    const tooLong = `has more than ${shown(maxLen)} characters`;
    checks.push((text) => (text.length > maxLen && hasCharacters(text, maxLen + 1) ? tooLong : undefined));
  }
  if (maxBytes !== undefined) {
    const tooLong = `has more than ${shown(maxBytes)} bytes`;
    // A UTF-16 unit takes one to three bytes in UTF-8, so most texts are settled without a count.
    checks.push((text) =>
      text.length * 3 > maxBytes && (text.length > maxBytes || Buffer.byteLength(text) > maxBytes)
        ? tooLong
        : undefined,
    );
  }
  if (rules.in) checks.push(oneOf(new Set(rules.in)));
  if (pattern !== undefined) checks.push(patternCheck(pattern));
  return all(checks);
}

function oneOf(allowed: ReadonlySet<string>): ValueCheck<string> {
  const words = `must be one of ${[...allowed].join(", ")}`;
  return (text) => (allowed.has(text) ? undefined : words);
}

function patternCheck(pattern: string): ValueCheck<string> {
  const known = knownPatterns.get(pattern);
  if (known) return (text) => (known.finds.test(text) ? known.words : undefined);
  const matches = new RegExp(pattern, "u");
  const words = `does not match ${pattern}`;
  return (text) => (matches.test(text) ? undefined : words);
}

/** Characters as people and other languages count them, not UTF-16 units, of which some characters take two. */
function hasCharacters(text: string, least: number): boolean {
  if (text.length < least) return false;
  if (text.length >= 2 * least) return true;
  let characters = 0;
  for (const _ of text) characters++;
  return characters >= least;
}

export function bytesCheck({
  minLen = 0,
  maxLen = Number.POSITIVE_INFINITY,
}: BytesRules): ValueCheck<Buffer> {
  const tooShort = minLen === 1 ? "is required" : `must have at least ${shown(minLen)} bytes`;
  const tooLong = `has more than ${shown(maxLen)} bytes`;
  return ({ length }) => (length < minLen ? tooShort : length > maxLen ? tooLong : undefined);
}

/** `least` is the smallest number that the type can hold. */
export function numberCheck(
  { gte, lte = Number.POSITIVE_INFINITY }: NumberRules,
  { isWhole, least }: { readonly isWhole: boolean; readonly least: number },
): ValueCheck<number> {
  const min = gte ?? least;
  const range =
    lte === Number.POSITIVE_INFINITY
      ? `of at least ${shown(min)}`
      : min === Number.NEGATIVE_INFINITY
        ? `of at most ${shown(lte)}`
        : `from ${shown(min)} to ${shown(lte)}`;
  const words = `must be a ${isWhole ? "whole number" : "number"} ${range}`;
  // NaN is in no range.
  return (value) => (value >= min && value <= lte ? undefined : words);
}

export function boolCheck(expected: boolean): ValueCheck<boolean> {
  const words = `must be ${expected} where it is set`;
  return (value) => (value === expected ? undefined : words);
}

export function enumCheck({ notIn = [] }: EnumRules, type: DescEnum): ValueCheck<string> {
  const allowed = type.values.filter(({ number }) => !notIn.includes(number));
  const prefix = type.sharedPrefix?.toUpperCase() ?? "";
  const names = new Set(allowed.map(({ name }) => name));
  const words =
    notIn.length === 0
      ? "is a value that this server does not know"
      : `must be one of ${[...names].map((name) => name.slice(prefix.length)).join(", ")}`;
  return (value) => (names.has(value) ? undefined : words);
}

function all<T>(checks: readonly ValueCheck<T>[]): ValueCheck<T> {
  const [first, second, ...more] = checks;
  if (!first) return () => undefined;
  if (!second) return first;
  if (more.length === 0) return (value) => first(value) ?? second(value);
  const rest = all(more);
  return (value) => first(value) ?? second(value) ?? rest(value);
}

function shown(number: number): string {
  return number.toLocaleString("en");
}
