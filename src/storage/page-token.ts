import { sha256 } from "../domain/hash.js";
import { QuireError } from "../errors/quire-error.js";

/** The form of tokens. One of another form, by an older or a newer server, is refused. */
const version = 1;
const digestBytes = 8;

/**
 * Where a list goes on, as a token that says nothing to anybody else: a version, a digest over the list's name and the position,
 * and the position. A token that was cut, changed, or made for another list has another digest.
 */
export function writePageToken(list: string, position: readonly string[]): string {
  const entries = Buffer.from(position.join("\0"));
  return Buffer.concat([Buffer.of(version), digestOf(list, entries), entries]).toString("base64url");
}

/** The position in a token of this list; the first position for no token. */
export function readPageToken(list: string, token: string, first: readonly string[]): readonly string[] {
  if (token === "") return first;
  const bytes = Buffer.from(token, "base64url");
  const entries = bytes.subarray(1 + digestBytes);
  const isOurs =
    bytes[0] === version &&
    digestOf(list, entries).equals(bytes.subarray(1, 1 + digestBytes)) &&
    bytes.toString("base64url") === token;
  const position = entries.toString("utf8").split("\0");
  if (!isOurs || position.length !== first.length) throw pageTokenInvalid();
  return position;
}

function digestOf(list: string, entries: Buffer): Buffer {
  return sha256(Buffer.from(`${list}\0`), entries).subarray(0, digestBytes);
}

export function pageTokenInvalid(): QuireError {
  return QuireError.field("PAGE_TOKEN_INVALID", "page_token", "is not a token that this list gave");
}
