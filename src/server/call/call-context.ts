/** What every call has: whose it is, and a signal that stops its work. */
export interface CallContext {
  readonly tenantId: string;
  readonly signal: AbortSignal;
  /** When the caller stops waiting, if it said so: milliseconds since 1970. */
  readonly deadlineMs?: number | undefined;
  /** For a call that waits for other callers: it no longer counts as at work. Gives what ends the waiting, which is a stop of the server, too. */
  readonly stepAside?: (() => AbortSignal) | undefined;
}

/** Until tokens say otherwise. */
export const defaultTenantId = "default";
