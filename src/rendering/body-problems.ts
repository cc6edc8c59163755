import type { BodyProblem } from "./render-input.js";

/** Collects what a validator finds. */
export class BodyProblems {
  readonly found: BodyProblem[] = [];

  add(rule: string, path: string, message: string): void {
    this.found.push({ rule, path, message });
  }

  /** Adds a problem unless the rule is kept; says whether it is. */
  check(kept: boolean, rule: string, path: string, message: string): boolean {
    if (!kept) this.add(rule, path, message);
    return kept;
  }
}

export function isBase64(text: unknown): text is string {
  if (typeof text !== "string" || text === "" || text.length % 4 !== 0) return false;
  return /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}
