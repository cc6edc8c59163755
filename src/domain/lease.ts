export const OnBusy = {
  UNSPECIFIED: "ON_BUSY_UNSPECIFIED",
  REJECT: "ON_BUSY_REJECT",
  WAIT: "ON_BUSY_WAIT",
  INTERRUPT: "ON_BUSY_INTERRUPT",
  UNRECOGNIZED: "UNRECOGNIZED",
} as const;
export type OnBusy = (typeof OnBusy)[keyof typeof OnBusy];

/** How a turn asks for its session. */
export interface LeaseRequest {
  /** 0 for the usual time. */
  readonly seconds: number;
  readonly onBusy: OnBusy;
  /** Whether the turn that loses the lease fails. */
  readonly discard: boolean;
  readonly holder: string;
}

/** A session kept for one open turn. */
export interface Lease {
  readonly turnId: string;
  readonly holder: string;
  readonly expireTime: Date | undefined;
  readonly seconds: number;
}
