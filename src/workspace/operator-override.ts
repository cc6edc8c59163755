import { sha256 } from "../domain/hash.js";
import type { Soon } from "../domain/soon.js";
import { type Warning, WarningKind, warning } from "../domain/warning.js";
import { type TextsFound, WatchedTexts, type WatchedTextsOptions } from "./watched-texts.js";

export interface OverrideText {
  readonly text: string;
  readonly hash: Buffer;
}

/** The override in force, and what the caller should know of it. */
export interface OverrideFound {
  /** undefined where there is no file, or nothing in it. */
  readonly override: OverrideText | undefined;
  readonly warnings: readonly Warning[];
}

export const maxOverrideBytes = 1024 * 1024;

/** The operator's prime.md, which goes on top of every system prompt. A change applies to the next assembly. */
export class OperatorOverride {
  private readonly watched: WatchedTexts;
  private known: OverrideText | undefined;

  constructor(
    private readonly path: string,
    options: Omit<WatchedTextsOptions, "maxBytes"> = {},
  ) {
    const paths = path === "" ? [] : [path];
    this.watched = new WatchedTexts(() => paths, { ...options, maxBytes: maxOverrideBytes });
  }

  read(): Soon<OverrideFound> {
    const found = this.watched.read();
    return found instanceof Promise ? found.then((texts) => this.inForce(texts)) : this.inForce(found);
  }

  private inForce({ texts, problems }: TextsFound): OverrideFound {
    const text = texts.get(this.path)?.trim() ?? "";
    if (text === "") this.known = undefined;
    else if (this.known?.text !== text) this.known = { text, hash: sha256(Buffer.from(text)) };
    const problem = problems.get(this.path);
    if (problem === undefined) return { override: this.known, warnings: [] };
    const instead = this.known ? "the text before stays in force" : "no text stands in for it";
    const detail = `prime.md is not used: ${problem}; ${instead}`;
    return { override: this.known, warnings: [warning(WarningKind.OVERRIDE_NOT_READ, detail)] };
  }
}
