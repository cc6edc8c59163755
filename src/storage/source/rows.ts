/** A kind of thing that is known, for one agent or for all, and how often it was written. */
export interface SourceMark {
  readonly agent: string;
  readonly kind: string;
  readonly revision: number;
}

export interface ItemRow {
  readonly agent: string;
  readonly kind: string;
  readonly key: string;
  readonly wire: Buffer;
  readonly updatedUs: bigint;
  readonly expiresUs: bigint | null;
}

export interface ObservationRow {
  readonly agent: string;
  readonly kind: string;
  readonly name: string;
  readonly observedUs: bigint;
  readonly value: number;
  readonly display: string;
  readonly unit: string;
  readonly expiresUs: bigint | null;
}

export interface SourceRow {
  readonly name: string;
  readonly wire: Buffer;
  readonly updatedUs: bigint;
}

export interface OutcomeRow {
  readonly tool: string;
  readonly calls: number;
  readonly failures: number;
}

export interface OutcomeCursor {
  readonly turnId: string;
  readonly openJson: string;
}

export interface UncountedTurn {
  readonly turnId: string;
  readonly isOpen: boolean;
  readonly wires: readonly Buffer[];
}

/** What turns add to the counts, from one place of a session to another. */
export interface OutcomeFold {
  readonly sessionId: string;
  readonly before: OutcomeCursor | undefined;
  readonly after: OutcomeCursor;
  readonly outcomes: readonly OutcomeRow[];
}
