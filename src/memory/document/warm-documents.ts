import { BlockDocument } from "./block-document.js";
import { textRoot } from "./roots.js";
import { setText } from "./set-text.js";

const words = "words ".repeat(20_000);

/**
 * Does what a write does, at start-up. The library's code is compiled when it is first used, which took longer than the work itself:
 * the first large text would hold up all other calls for 50 ms.
 */
export function warmDocuments(): void {
  for (const text of [words, `${words}more`]) {
    const document = BlockDocument.open(1n, undefined, 0);
    setText(document.doc.getText(textRoot({ name: "" })), text);
    document.takeUpdate();
    document.free();
  }
}
