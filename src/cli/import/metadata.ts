import { cleanName, wholeCharacters } from "./clean-name.js";
import type { Findings } from "./findings.js";

const LONGEST_KEY = 128;
const LONGEST_VALUE = 4096;
const MOST_ENTRIES = 64;

/** Metadata within the contract's bounds: empty values go, long ones are cut. */
export function shortMetadata(
  metadata: Readonly<Record<string, string>>,
  findings: Findings,
): Record<string, string> {
  const entries = Object.entries(metadata).filter(([key, value]) => key !== "" && value !== "");
  if (entries.length > MOST_ENTRIES) {
    findings.add(`metadata beyond ${MOST_ENTRIES} entries, left out`, "", entries.length - MOST_ENTRIES);
  }
  return Object.fromEntries(
    entries.slice(0, MOST_ENTRIES).map(([key, value]) => {
      if (key.length > LONGEST_KEY || value.length > LONGEST_VALUE)
        findings.add("long metadata, cut", key.slice(0, 40));
      return [
        cleanName(key, LONGEST_KEY),
        wholeCharacters(value.replaceAll("\0", "").slice(0, LONGEST_VALUE)),
      ];
    }),
  );
}
