import { createHash } from "node:crypto";
import { mostCharacters } from "./bounds.js";
import { cleanName } from "./clean-name.js";

/** The call ids of one turn: unique, never empty, and renamed the same way each time a transcript is read. */
export class CallIds {
  private readonly used = new Set<string>();
  private readonly openIds = new Map<string, string[]>();
  private openCount = 0;

  /** How many calls have no answer yet. */
  get open(): number {
    return this.openCount;
  }

  /** The id under which a call is kept. */
  take(original: string): string {
    const id = this.unique(original);
    this.used.add(id);
    this.openIds.set(original, [...(this.openIds.get(original) ?? []), id]);
    this.openCount += 1;
    return id;
  }

  /** The kept id of the call that a result answers: the earliest open one of that name. */
  answer(original: string): string {
    const id = this.openIds.get(original)?.shift();
    if (id === undefined) return original;
    this.openCount -= 1;
    return id;
  }

  private unique(original: string): string {
    const longest = mostCharacters("ToolCallPart.call_id");
    const base =
      (original.length > longest - 16 ? shortened(original) : cleanName(original, longest)) || "call";
    if (original !== "" && !this.used.has(base)) return base;
    for (let number = original ? 2 : 1; ; number += 1) {
      const candidate = `${base}~${number}`;
      if (!this.used.has(candidate)) return candidate;
    }
  }
}

function shortened(id: string): string {
  return `${cleanName(id, 200)}-${createHash("sha256").update(id).digest("hex").slice(0, 16)}`;
}
