import type { Reason } from "./reasons.js";

/** A field of the request that is wrong, by its path in the contract. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

interface QuireErrorOptions {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly FieldViolation[];
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** The one error type. Its message is public; its cause never leaves the process. */
export class QuireError extends Error {
  override readonly name = "QuireError";
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly reason: Reason,
    message: string,
    options: QuireErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.metadata = options.metadata ?? {};
    this.violations = options.violations ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }

  /** An error about one field of the request. */
  static field(
    reason: Reason,
    field: string,
    description: string,
    metadata: Readonly<Record<string, string>> = {},
  ) {
    return new QuireError(reason, `${field}: ${description}`, {
      metadata: { field, ...metadata },
      violations: [{ field, description }],
    });
  }

  /** Every thrown thing as a QuireError: those are kept, all else is a fault of ours. */
  static from(thrown: unknown): QuireError {
    if (thrown instanceof QuireError) return thrown;
    return new QuireError("INTERNAL", "internal error", { cause: thrown });
  }
}
