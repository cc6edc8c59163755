/** A web address, or a run of what names, paths, codes and addresses are written with. */
const run =
  /[a-z][a-z0-9+.-]{1,15}:\/\/[^\s"'`<>()[\]{}]{2,200}|[\p{L}\p{N}_$@~./\\#+-]+(?:::[\p{L}\p{N}_$./]+)*/giu;
const longest = 200;
/** Punctuation at both ends that belongs to the sentence; a path may begin with dots. */
const lead = /^[.#+\\-]+(?!\.{0,2}\/)/u;
const tail = /[.#+$\\/-]+$/u;
const ordinary =
  /^(?:e\.g|i\.e|a\.m|p\.m|and\/or|\d+(?:st|nd|rd|th|s|k|m|x|h|ms|min|px|em|rem|kb|mb|gb|%)?)$/iu;

/**
 * The names in a text that nobody could guess again, each once, in order: paths, addresses, ids, codes, and names of programs such as
 * `loadOrder`, `max_tokens` and `state.messages`. Takes time in proportion to the text.
 */
export function namesIn(text: string): Set<string> {
  return new Set(eachName(text));
}

/** The same names, each as often as it is said. */
export function* eachName(text: string): Generator<string, void> {
  for (const [word] of text.matchAll(run)) {
    if (word.length < 3 || word.length > longest) continue;
    const name = word.replace(lead, "").replace(tail, "");
    if (isName(name)) yield name;
  }
}

/** Whether a text is a path, and nothing else. */
export function isPath(text: string): boolean {
  if (text.length < 2 || text.length > 512 || /[\s"'`<>|*?]/u.test(text) || text.includes("://"))
    return false;
  return (
    /^(?:~|\.{1,2}|[a-zA-Z]:)?[/\\][^/\\]|[^/\\][/\\][^/\\]/u.test(text) ||
    /[\p{L}\p{N}_-]\.[a-zA-Z]\w{0,7}$/u.test(text)
  );
}

function isName(text: string): boolean {
  if (text.length < 3 || ordinary.test(text)) return false;
  if (!/\p{L}/u.test(text)) return /^\d{5,20}$/u.test(text);
  if (/[/\\]/u.test(text)) return /^[~.]?\.?[/\\]|[/\\].*[/\\]|[._\d-]|\p{Ll}\p{Lu}/u.test(text);
  return /[\p{L}\p{N}]_+[\p{L}\p{N}]|\p{Ll}\p{Lu}|[\p{L}\p{N}_$]\.[\p{L}_$]|::|\p{L}@\p{L}|\p{N}/u.test(text);
}
