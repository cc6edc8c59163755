import type { BoundedCache } from "../../domain/bounded-cache.js";
import type { Caches } from "../../domain/caches.js";
import { megabyte, textBytes } from "../../domain/memory-size.js";
import { namesIn } from "../../domain/names.js";

/** More of a text is not looked through. */
const maxTextChars = 64 * 1024;
/** Longer ones are data. */
const maxNameChars = 100;

/** The names in messages, which are looked for once for as long as there is room to keep them. */
export class MessageNames {
  private readonly kept: BoundedCache<readonly string[]>;

  constructor(caches: Caches) {
    this.kept = caches.create<readonly string[]>("names in messages", 2 * megabyte, (names) =>
      names.reduce((bytes, name) => bytes + textBytes(name), 64),
    );
  }

  /** Of a message's text as it is shown there: with marks for what is left out, it is another one. */
  of(turnId: string, index: number, text: string): readonly string[] {
    const key = `${turnId}/${index}/${text.length}`;
    let names = this.kept.get(key);
    if (!names) {
      names = [...namesIn(text.slice(0, maxTextChars))].filter(({ length }) => length <= maxNameChars);
      this.kept.set(key, names);
    }
    return names;
  }
}
