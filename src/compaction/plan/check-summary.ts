export interface SummaryCheck {
  readonly text: string;
  /** What the summary costs. */
  readonly tokens: number;
  /** What the messages cost that it stands for. */
  readonly replacedTokens: number;
  readonly maxTokens: number;
  readonly mustKeep: readonly string[];
}

const longestShown = 80;

/** Why a summary may not be used, in a few words that follow "the summary"; undefined when it may. */
export function checkSummary(check: SummaryCheck): string | undefined {
  const { text, tokens, replacedTokens, maxTokens, mustKeep } = check;
  if (text.trim() === "") return "is empty";
  if (!hasWords(text)) return "has no letter and no number in it";
  if (tokens >= replacedTokens)
    return `is not shorter than what it replaces (${tokens} tokens for ${replacedTokens})`;
  if (tokens > maxTokens) return `is over its limit (${tokens} tokens of ${maxTokens})`;
  const dropped = mustKeep.filter((identifier) => identifier !== "" && !holds(text, identifier));
  if (dropped.length === 0) return undefined;
  const more = dropped.length > 1 ? ` and ${dropped.length - 1} more` : "";
  return `drops the identifier ${shown(dropped[0]!)}${more}`;
}

/** Whether there is a letter or a number in a text. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

/** Whether the identifier stands in the text by itself: `call_1` is not in `call_12`. */
function holds(text: string, identifier: string): boolean {
  for (let at = text.indexOf(identifier); at >= 0; at = text.indexOf(identifier, at + 1)) {
    const end = at + identifier.length;
    if (!joins(text[at - 1], identifier[0]) && !joins(identifier.at(-1), text[end])) return true;
  }
  return false;
}

/** Letters beyond ASCII do not join: languages without spaces write them next to identifiers. */
function joins(left: string | undefined, right: string | undefined): boolean {
  return isWordCharacter(left) && isWordCharacter(right);
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /\w/.test(character);
}

function shown(identifier: string): string {
  const clean = identifier.replace(/\p{Cc}+/gu, " ");
  return JSON.stringify(clean.length > longestShown ? `${clean.slice(0, longestShown)}...` : clean);
}
