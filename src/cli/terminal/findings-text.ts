import type { Finding } from "../../transcripts/findings.js";

/** What was odd, one line each: how often, what, and where for the first few. */
export function findingsText(findings: readonly Finding[]): string {
  const width = Math.max(0, ...findings.map(({ count }) => String(count).length));
  return findings
    .map(({ what, count, where }) => {
      const more = count > where.length ? "; ..." : "";
      const places = where.length > 0 ? ` (${where.join("; ")}${more})` : "";
      return `  ${String(count).padStart(width)}  ${what}${places}`;
    })
    .join("\n");
}
