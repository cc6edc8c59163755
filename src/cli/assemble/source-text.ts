import { type SourceReport, SourceState } from "../../contract/gen/quire/v1/source.js";
import { counted, printable } from "../terminal/printable.js";
import { type Lines, word } from "./lines.js";

/** What came of asking a source, in one line. */
export function sourceText(lines: Lines, report: SourceReport): string {
  const { name, state, detail, blocks, tokens, elapsedUs, cached } = report;
  const isFine = state === SourceState.OK || state === SourceState.EMPTY || state === SourceState.SUPPRESSED;
  const said = word(state, "SOURCE_STATE_");
  const size = blocks > 0 ? `${counted(blocks, "block")}, ${counted(tokens, "token")}` : "";
  const time = cached ? "from the cache" : `${(elapsedUs / 1_000).toFixed(1)} ms`;
  const facts = [isFine ? said : lines.paint("yellow", said), size, time, printable(detail)].filter(Boolean);
  return `${printable(name)}: ${facts.join(", ")}`;
}
