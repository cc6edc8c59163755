import { sha256 } from "../domain/hash.js";
import { type Warning, WarningKind, warning } from "../domain/warning.js";
import { WatchedTexts, type WatchedTextsOptions } from "./watched-texts.js";

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

  async read(): Promise<OverrideFound> {
    const { texts, problems } = await this.watched.read();
    const text = texts.get(this.path)?.trim() ?? "";
    if (text === "") this.known = undefined;
    else if (this.known?.text !== text) this.known = { text, hash: sha256(Buffer.from(text)) };
    const problem = problems.get(this.path);
    const instead = this.known ? "the text before stays in force" : "no text stands in for it";
    const detail = `prime.md is not used: ${problem}; ${instead}`;
    return {
      override: this.known,
      warnings: problem === undefined ? [] : [warning(WarningKind.OVERRIDE_NOT_READ, detail)],
    };
  }
}
