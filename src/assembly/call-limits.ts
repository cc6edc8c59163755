/** When to stop, and until when to be done. */
export interface CallLimits {
  readonly signal?: AbortSignal | undefined;
  readonly deadlineMs?: number | undefined;
}
