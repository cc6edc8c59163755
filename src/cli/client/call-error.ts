import { type ServiceError, status } from "@grpc/grpc-js";
import { BadRequest, ErrorInfo, RetryInfo } from "../../contract/gen/google/rpc/error_details.js";
import { Status } from "../../contract/gen/google/rpc/status.js";
import type { Reason } from "../../errors/reasons.js";
import { CliError } from "../cli-error.js";

/** A call that failed, with the details that the server sent. */
export class CallError extends CliError {
  /** Absent when the answer did not come from Quire: nothing listens there, or something else does. */
  readonly reason: Reason | undefined;
  readonly code: status;
  readonly retryAfterMs: number | undefined;

  private constructor(error: ServiceError, facts: ErrorFacts, address: string) {
    const unreachable = error.code === status.UNAVAILABLE && !facts.reason;
    super(
      unreachable ? `no Quire server answers at ${address}` : facts.message || error.details || error.message,
      {
        hints: unreachable
          ? unreachableHints
          : error.code === status.UNIMPLEMENTED
            ? foreignHints(address)
            : [],
        details: {
          code: status[error.code],
          ...(facts.reason ? { reason: facts.reason } : {}),
          ...(facts.fields.length > 0 ? { fields: facts.fields } : {}),
          ...(Object.keys(facts.metadata).length > 0 ? { metadata: facts.metadata } : {}),
        },
        cause: error,
      },
    );
    this.reason = facts.reason as Reason | undefined;
    this.code = error.code;
    this.retryAfterMs = facts.retryAfterMs;
  }

  static from(error: ServiceError, address: string): CallError {
    return new CallError(error, readFacts(error), address);
  }
}

const unreachableHints = [
  "start one: npm start, or node bin/quire.js serve",
  "if it listens elsewhere: --address <host:port>, or QUIRE_ADDRESS",
];

function foreignHints(address: string): readonly string[] {
  return [`what listens at ${address} is not this version of Quire: quire doctor says what it finds there`];
}

interface ErrorFacts {
  readonly message: string;
  readonly reason: string | undefined;
  readonly fields: readonly { readonly field: string; readonly description: string }[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
}

/** Reads the google.rpc.Status in the trailers. Details that cannot be read leave the plain status. */
function readFacts(error: ServiceError): ErrorFacts {
  let message = "";
  let reason: string | undefined;
  let metadata: Readonly<Record<string, string>> = {};
  let fields: ErrorFacts["fields"] = [];
  let retryAfterMs: number | undefined;
  try {
    const [bytes] = error.metadata?.get("grpc-status-details-bin") ?? [];
    const decoded = Buffer.isBuffer(bytes) ? Status.decode(bytes) : undefined;
    message = decoded?.message ?? "";
    for (const { typeUrl, value } of decoded?.details ?? []) {
      if (typeUrl.endsWith("/google.rpc.ErrorInfo")) ({ reason, metadata } = ErrorInfo.decode(value));
      if (typeUrl.endsWith("/google.rpc.BadRequest")) fields = BadRequest.decode(value).fieldViolations;
      if (typeUrl.endsWith("/google.rpc.RetryInfo")) {
        const delay = RetryInfo.decode(value).retryDelay;
        retryAfterMs = delay ? Number(delay.seconds) * 1000 + delay.nanos / 1_000_000 : 0;
      }
    }
  } catch {
    // The status itself is still there to be shown.
  }
  return { message, reason, fields, metadata, retryAfterMs };
}
