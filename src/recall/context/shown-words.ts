import type { Message } from "../../domain/message.js";
import type { ShownHistory } from "../../sources/source.js";
import { messageWords } from "../documents/message-words.js";

/** More of history is not looked through, the newest first. */
const maxChars = 256 * 1024;
const inWord = /[\p{L}\p{N}_]/u;

/** What history says, with what was sent beside it, read when it is first asked for. */
export class ShownWords {
  private text: string | undefined;

  constructor(
    private readonly history: ShownHistory | undefined,
    private readonly isCounted: (message: Message) => boolean = () => true,
  ) {}

  /** By itself, or as the end of a longer path. */
  has(name: string): boolean {
    const text = this.read();
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1))
      if (!inWord.test(text[at - 1] ?? " ") && !inWord.test(text[at + name.length] ?? " ")) return true;
    return false;
  }

  private read(): string {
    if (this.text !== undefined) return this.text;
    const texts: string[] = [];
    let left = maxChars;
    for (const message of this.history?.messages().toReversed() ?? []) {
      if (!this.isCounted(message)) continue;
      const { contextParts, parts } = message;
      const text = messageWords({ parts: [...contextParts, ...parts] });
      texts.push(text);
      left -= text.length;
      if (left < 0) break;
    }
    this.text = texts.join("\n");
    return this.text;
  }
}
