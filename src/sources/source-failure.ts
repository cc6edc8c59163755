/** Why a source has no answer, in words that may be shown to whoever asked. Anything else that a source throws is logged, and not shown. */
export class SourceFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "SourceFailure";
  }
}
