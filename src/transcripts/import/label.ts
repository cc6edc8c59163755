import { looksLikeUuid } from "../../domain/clock.js";
import { mostCharacters } from "./bounds.js";
import { cleanName } from "./clean-name.js";

/** For what is put behind a label: "/0001", "~2". */
const roomBehind = 32;

/** A label that the ledger takes, made from a file's name: no control characters, no UUID, not too long. */
export function labelFrom(name: string, format: string): string {
  const clean = cleanName(name, mostCharacters("CreateSessionRequest.label") - roomBehind).trim();
  const label = clean === "" || looksLikeUuid(clean) ? `${format}-${clean || "import"}` : clean;
  return label;
}

/** The label of one conversation of a file that holds several, so numbered that they sort. */
export function numberedLabel(base: string, index: number, total: number): string {
  return total === 1 ? base : `${base}/${String(index + 1).padStart(String(total).length, "0")}`;
}
