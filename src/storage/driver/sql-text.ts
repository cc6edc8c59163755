const blank = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$))+/;
const token =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[^\s'"`[\-/;]+|\S/g;

/** The word that a statement starts with, in lower case. */
export function leadingWord(sql: string): string {
  return /^\w*/.exec(sql.replace(blank, ""))?.[0].toLowerCase() ?? "";
}

/** Whether a further statement follows the first; the drivers would leave it out without a word. */
export function hasSecondStatement(sql: string): boolean {
  const first = sql.indexOf(";");
  if (first === -1 || sql.slice(first + 1).replace(blank, "") === "") return false;
  // A trigger's body has statements of its own.
  if (/^create\s+(?:temp(?:orary)?\s+)?trigger\b/i.test(sql.replace(blank, ""))) return false;
  let ended = false;
  for (const [text] of sql.matchAll(token)) {
    if (text === ";") ended = true;
    else if (ended && !text.startsWith("--") && !text.startsWith("/*")) return true;
  }
  return false;
}
