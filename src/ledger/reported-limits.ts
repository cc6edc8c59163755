import type { ReportedLimit } from "../domain/session.js";
import type { SessionRow } from "../storage/ledger/rows.js";

type Column = Pick<SessionRow, "reportedLimitsJson">;

/** The limits of models that a session was told of. */
export function readReportedLimits({ reportedLimitsJson }: Column): readonly ReportedLimit[] {
  return reportedLimitsJson === null ? [] : (JSON.parse(reportedLimitsJson) as ReportedLimit[]);
}

export function reportedLimitOf(column: Column, model: string): number | undefined {
  return readReportedLimits(column).find((limit) => limit.model === model)?.tokens;
}

/** So many models have a limit of their own; the ones that were told of first are forgotten. */
const maxLimits = 32;

/** The column with one more limit. What is newest counts: a provider may have raised it. */
export function withReportedLimit(column: Column, limit: ReportedLimit): string {
  const others = readReportedLimits(column).filter(({ model }) => model !== limit.model);
  return JSON.stringify([...others, limit].slice(-maxLimits));
}
