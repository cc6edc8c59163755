import type { Elision, HistoryLayer } from "../../contract/gen/quire/v1/assembly.js";
import { counted, printable } from "../terminal/printable.js";
import { type Lines, labelWidth, number, word, wrap } from "./lines.js";

/** More of them say nothing to people; --json gives all. */
const maxLines = 10;

/** What was replaced by markers in a history, below its entry. */
export function printElisions(lines: Lines, { elisions, elisionCount }: HistoryLayer): void {
  for (const elision of elisions.slice(0, maxLines))
    lines.below(...wrap(printable(elisionText(elision)), lines.width - labelWidth));
  const more = elisionCount - Math.min(elisions.length, maxLines);
  if (more > 0) lines.below(`and ${number(more)} more`);
}

function elisionText(elision: Elision): string {
  const { turnId, messageIndex, partIndex, callId, content, tokensBefore, tokensAfter } = elision;
  const what = `${word(content, "ELIDED_CONTENT_")}${callId === "" ? "" : ` of ${callId}`}`;
  const where = `turn ${turnId}, message ${messageIndex}, part ${partIndex}`;
  return `${what}: ${number(tokensBefore)} -> ${counted(tokensAfter, "token")} (${where})`;
}
