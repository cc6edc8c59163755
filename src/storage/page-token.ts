import { QuireError } from "../errors/quire-error.js";

/**
 * Opaque to callers: which list it is for, and where that list goes on. Not encoded any further, or the longest names
 * would not fit the bound that tokens have.
 */
export function writePageToken(list: string, position: readonly string[]): string {
  return JSON.stringify([list, ...position]);
}

/** The position in a token of this list; the first position for no token. */
export function readPageToken(list: string, token: string, first: readonly string[]): readonly string[] {
  if (token === "") return first;
  try {
    const [kind, ...position] = JSON.parse(token) as unknown[];
    const isWhole = kind === list && position.length === first.length;
    if (isWhole && position.every((entry) => typeof entry === "string" && !entry.includes("\0")))
      return position as string[];
  } catch {
    // Not a token of ours: the error below says so.
  }
  throw pageTokenInvalid();
}

export function pageTokenInvalid(): QuireError {
  return QuireError.field("PAGE_TOKEN_INVALID", "page_token", "is not a token that this list gave");
}
