import type { Findings } from "../findings.js";
import { tagBounds } from "./bounds.js";
import { cleanName, wholeCharacters } from "./clean-name.js";

/** Metadata within the contract's bounds: empty values go, long ones are cut. */
export function shortMetadata(
  metadata: Readonly<Record<string, string>>,
  findings: Findings,
): Record<string, string> {
  const most = tagBounds();
  const entries = Object.entries(metadata).filter(([key, value]) => key !== "" && value !== "");
  if (entries.length > most.entries) {
    findings.add(`metadata beyond ${most.entries} entries, left out`, "", entries.length - most.entries);
  }
  return Object.fromEntries(
    entries.slice(0, most.entries).map(([key, value]) => {
      if (key.length > most.key || value.length > most.value)
        findings.add("long metadata, cut", key.slice(0, 40));
      return [cleanName(key, most.key), wholeCharacters(value.replaceAll("\0", "").slice(0, most.value))];
    }),
  );
}
