import { QuireError } from "../errors/quire-error.js";

const prefix = "workspaces:";

/** Opaque to callers. Not encoded any further: the longest name would then not fit the bound that tokens have. */
export function writePageToken(lastName: string): string {
  return `${prefix}${lastName}`;
}

/** The name after which the list goes on; empty for no token. */
export function readPageToken(token: string): string {
  if (token === "") return "";
  if (token.startsWith(prefix) && token.length > prefix.length) return token.slice(prefix.length);
  throw QuireError.field("PAGE_TOKEN_INVALID", "page_token", "is not a token that this list gave");
}
