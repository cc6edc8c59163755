/** A failure that the person at the terminal can act on: what went wrong, and what to try. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly hints: readonly string[];
  readonly exitCode: 1 | 2;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    options: {
      readonly hints?: readonly string[];
      readonly exitCode?: 1 | 2;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.hints = options.hints ?? [];
    this.exitCode = options.exitCode ?? 1;
    this.details = options.details ?? {};
  }
}
