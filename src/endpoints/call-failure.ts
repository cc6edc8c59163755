type ErrorClass = abstract new (...given: never[]) => Error;

/** The error classes that both SDKs have under the same names. */
export interface SdkErrors {
  readonly APIError: ErrorClass;
  readonly APIConnectionError: ErrorClass;
  readonly APIConnectionTimeoutError: ErrorClass;
}

/** Says what happened, in words that follow the name of what was asked. */
export class EndpointFailure extends Error {
  override readonly name = "EndpointFailure";

  constructor(
    words: string,
    /** The HTTP status of the answer, where that is what was wrong. */
    readonly status?: number,
  ) {
    super(words);
  }
}

/** The endpoint answered, with something that cannot be used. Perhaps only for what it was asked this time. */
export class UnusableAnswer extends EndpointFailure {}

/**
 * What a failed call came to. The words are ours alone, and no cause is kept: messages of servers, of SDKs and of
 * `fetch` can quote the request, the answer or the key.
 */
export function callFailure(thrown: unknown, sdk: SdkErrors, timeoutMs: number): EndpointFailure {
  if (thrown instanceof EndpointFailure) return thrown;
  return new EndpointFailure(words(thrown, sdk, timeoutMs), statusOf(thrown, sdk));
}

function statusOf(thrown: unknown, sdk: SdkErrors): number | undefined {
  const status =
    thrown instanceof sdk.APIError ? (thrown as { readonly status?: unknown }).status : undefined;
  return typeof status === "number" ? status : undefined;
}

function words(thrown: unknown, sdk: SdkErrors, timeoutMs: number): string {
  if (thrown instanceof sdk.APIConnectionTimeoutError) return `gave no answer within ${timeoutMs} ms`;
  if (thrown instanceof sdk.APIConnectionError) {
    const code = causeCode(thrown);
    return code ? `could not be reached (${code})` : "could not be reached";
  }
  if (thrown instanceof sdk.APIError) {
    const status = statusOf(thrown, sdk);
    if (status === undefined) return "answered with an error";
    const kind = errorKind(thrown as { readonly code?: unknown; readonly type?: unknown });
    return `answered with HTTP status ${status}${kind ? ` (${kind})` : ""}`;
  }
  if (thrown instanceof SyntaxError) return "answered with something that is not JSON";
  return "could not be called: its address or its key cannot be used";
}

function causeCode(thrown: Error): string | undefined {
  for (let error: unknown = thrown, depth = 0; error instanceof Error && depth < 5; depth++) {
    const { code } = error as { readonly code?: unknown };
    if (typeof code === "string" && /^[A-Z_]{3,40}$/.test(code)) return code;
    error = error.cause;
  }
  return undefined;
}

/** The provider's word for the error; only what looks like one of an enumeration. */
function errorKind({ code, type }: { readonly code?: unknown; readonly type?: unknown }): string | undefined {
  return [code, type].find((word): word is string => typeof word === "string" && /^[a-z_]{3,40}$/.test(word));
}
