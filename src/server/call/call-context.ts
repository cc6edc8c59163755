/** What every call has: whose it is, and a signal that stops its work. */
export interface CallContext {
  readonly tenantId: string;
  readonly signal: AbortSignal;
  /** When the caller stops waiting, if it said so: milliseconds since 1970. */
  readonly deadlineMs?: number | undefined;
}

/** Until tokens say otherwise. */
export const defaultTenantId = "default";
