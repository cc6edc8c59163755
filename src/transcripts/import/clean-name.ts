// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the ledger's names must not hold
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/g;

/** A text that the ledger takes as a name: without control characters, and not too long. */
export function cleanName(value: string, longest: number): string {
  return wholeCharacters(value.replace(controlCharacters, "").slice(0, longest));
}

/** Without the half of a surrogate pair that a cut may leave at the end. */
export function wholeCharacters(value: string): string {
  return /[\uD800-\uDBFF]$/.test(value) ? value.slice(0, -1) : value;
}
