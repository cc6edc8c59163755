/** More than any model reads of one text, and little enough to send many at once. */
const longestChars = 8_192;

/** What is sent of a text: without blanks around, the beginning of what is long, and nothing that breaks JSON or a tokenizer. */
export function prepareText(text: string, prefix = ""): string {
  const plain = text
    .slice(0, longestChars * 2)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu, " ")
    .trim();
  return prefix + wellFormed(plain.slice(0, longestChars));
}

/** Half of a pair of surrogates, as a cut can leave it, becomes U+FFFD. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
