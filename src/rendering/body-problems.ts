import type { BodyProblem } from "./render-input.js";

/** More would tell nobody more, and a body could have millions. */
const maxProblems = 100;

/** Collects what a validator finds, the first hundred of it. */
export class BodyProblems {
  readonly found: BodyProblem[] = [];

  add(rule: string, path: string, message: string): void {
    if (this.found.length < maxProblems) this.found.push({ rule, path, message });
  }

  /** Adds a problem unless the rule is kept; says whether it is. */
  check(kept: boolean, rule: string, path: string, message: string): boolean {
    if (!kept) this.add(rule, path, message);
    return kept;
  }
}

/** A value in words. Nothing of its own is called: a body's object may have a `toString` that is no function. */
export function wordOf(value: unknown): string {
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

export function isBase64(text: unknown): text is string {
  if (typeof text !== "string" || text === "" || text.length % 4 !== 0) return false;
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}
