/** So much of the time that a caller has may go into a compaction; the rest is for what comes after. */
const share = 0.8;

/** How long a compaction may take for a caller with this deadline, if it has one. */
export function timeLeftMs(deadlineMs: number | undefined, mostMs: number): number {
  if (deadlineMs === undefined) return mostMs;
  return Math.max(0, Math.min(mostMs, (deadlineMs - Date.now()) * share));
}
