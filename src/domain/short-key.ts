import { sha256 } from "./hash.js";

const longestKey = 512;

/** A key of a cache for all that something is made from; a hash where that is long. */
export function shortKey(parts: readonly unknown[]): string {
  const json = JSON.stringify(parts);
  return json.length <= longestKey ? json : sha256(Buffer.from(json)).toString("base64");
}
