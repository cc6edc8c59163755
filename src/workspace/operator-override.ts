import { readFileSync, statSync } from "node:fs";
import { sha256 } from "../domain/hash.js";

export interface OverrideText {
  readonly text: string;
  readonly hash: Buffer;
}

/** The operator's prime.md, which goes on top of every system prompt. A change applies to the next assembly. */
export class OperatorOverride {
  private stamp = "";
  private current: OverrideText | undefined;

  constructor(private readonly path: string) {}

  /** undefined where there is no file, or nothing in it. */
  read(): OverrideText | undefined {
    const found = this.path === "" ? undefined : statSync(this.path, { throwIfNoEntry: false });
    if (!found?.isFile()) return undefined;
    const stamp = `${found.mtimeMs}/${found.size}/${found.ino}`;
    if (stamp !== this.stamp) {
      const text = readFileSync(this.path, "utf8").trim();
      this.current = text === "" ? undefined : { text, hash: sha256(Buffer.from(text)) };
      this.stamp = stamp;
    }
    return this.current;
  }
}
