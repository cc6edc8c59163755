import { resolve } from "node:path";

/** The file of an embedded database. */
export function sqlitePath(url: string): string {
  return resolve(url.slice("file:".length));
}
