import { status as Code, Metadata, type ServiceError } from "@grpc/grpc-js";
import { BadRequest, ErrorInfo, RetryInfo } from "../contract/gen/google/rpc/error_details.js";
import { Status } from "../contract/gen/google/rpc/status.js";
import type { FieldViolation, QuireError } from "../errors/quire-error.js";
import type { Reason } from "../errors/reasons.js";

/** The one place where reasons become gRPC codes. */
export const codes: Readonly<Record<Reason, Code>> = {
  INVALID_FIELD: Code.INVALID_ARGUMENT,
  MALFORMED_REQUEST: Code.INVALID_ARGUMENT,
  PAGE_TOKEN_INVALID: Code.INVALID_ARGUMENT,
  SESSION_NOT_FOUND: Code.NOT_FOUND,
  TURN_NOT_FOUND: Code.NOT_FOUND,
  ALIAS_NOT_FOUND: Code.NOT_FOUND,
  LABEL_TAKEN: Code.ALREADY_EXISTS,
  ALIAS_TAKEN: Code.ALREADY_EXISTS,
  REQUEST_ID_REUSED: Code.ALREADY_EXISTS,
  HEAD_MOVED: Code.ABORTED,
  UNKNOWN_PARENT: Code.INVALID_ARGUMENT,
  PARENT_NOT_FINISHED: Code.INVALID_ARGUMENT,
  TURN_NOT_FINISHED: Code.FAILED_PRECONDITION,
  TURN_NOT_OPEN: Code.FAILED_PRECONDITION,
  TURN_EMPTY: Code.FAILED_PRECONDITION,
  MESSAGE_COUNT_MISMATCH: Code.ABORTED,
  BAD_ROLE_ORDER: Code.INVALID_ARGUMENT,
  PART_NOT_ALLOWED: Code.INVALID_ARGUMENT,
  ORPHAN_TOOL_RESULT: Code.INVALID_ARGUMENT,
  ORPHAN_APPROVAL_ANSWER: Code.INVALID_ARGUMENT,
  DUPLICATE_ANSWER: Code.INVALID_ARGUMENT,
  DUPLICATE_CALL: Code.INVALID_ARGUMENT,
  UNANSWERED_CALLS: Code.INVALID_ARGUMENT,
  NO_TASK: Code.FAILED_PRECONDITION,
  CANCELLED: Code.CANCELLED,
  DEADLINE_EXCEEDED: Code.DEADLINE_EXCEEDED,
  SHUTTING_DOWN: Code.UNAVAILABLE,
  STORAGE_UNAVAILABLE: Code.UNAVAILABLE,
  INTERNAL: Code.INTERNAL,
  CAPSULE_NOT_FOUND: Code.NOT_FOUND,
  VERSION_MISMATCH: Code.ABORTED,
  LEARNING_DISABLED: Code.FAILED_PRECONDITION,
  WORKSPACE_NOT_FOUND: Code.NOT_FOUND,
  DOCUMENT_NOT_FOUND: Code.NOT_FOUND,
  TOOLSET_NOT_FOUND: Code.NOT_FOUND,
  LANE_EXCEEDED: Code.FAILED_PRECONDITION,
  CONTEXT_TOO_LARGE: Code.FAILED_PRECONDITION,
  RECEIPT_NOT_FOUND: Code.NOT_FOUND,
  RECEIPT_EXPIRED: Code.FAILED_PRECONDITION,
  NOTHING_TO_COMPACT: Code.FAILED_PRECONDITION,
  COMPACTION_FAILED: Code.FAILED_PRECONDITION,
  COMPACTION_OUTDATED: Code.ABORTED,
  SUMMARY_REFUSED: Code.INVALID_ARGUMENT,
  OVERFLOW_UNRECOVERABLE: Code.FAILED_PRECONDITION,
  SERVER_BUSY: Code.RESOURCE_EXHAUSTED,
  LIMIT_REACHED: Code.RESOURCE_EXHAUSTED,
  RESPONSE_TOO_LARGE: Code.FAILED_PRECONDITION,
  DATABASE_LOST: Code.UNAVAILABLE,
  COMMIT_OUTCOME_UNKNOWN: Code.UNAVAILABLE,
  RESPONSE_UNREADABLE: Code.INVALID_ARGUMENT,
  BLOCK_NOT_FOUND: Code.NOT_FOUND,
  BLOCK_EXISTS: Code.ALREADY_EXISTS,
  BLOCK_CHANGED: Code.ABORTED,
  BLOCK_NOT_ALLOWED: Code.PERMISSION_DENIED,
  BLOCK_SCHEMA_MISMATCH: Code.INVALID_ARGUMENT,
  BLOCK_LIMIT_EXCEEDED: Code.FAILED_PRECONDITION,
  SCHEMA_LOSES_CONTENT: Code.FAILED_PRECONDITION,
  REVISION_NOT_FOUND: Code.NOT_FOUND,
  SHARE_NOT_FOUND: Code.NOT_FOUND,
  ARCHIVAL_NOT_FOUND: Code.NOT_FOUND,
  UPDATE_REFUSED: Code.INVALID_ARGUMENT,
  SESSION_BUSY: Code.ABORTED,
  INTERRUPTED: Code.ABORTED,
  LEASE_LOST: Code.ABORTED,
  SOURCE_NOT_FOUND: Code.NOT_FOUND,
  SOURCE_ADDRESS_NOT_ALLOWED: Code.PERMISSION_DENIED,
};

const domain = "quire.v1";
/** Trailers share one header block, of which some clients take 8 KB: a long list of violations is cut, the first ones help most. */
const maxViolationBytes = 2_048;

/** A gRPC status with google.rpc details. The cause stays here. */
export function toServiceError(error: QuireError): ServiceError {
  const code = codes[error.reason];
  const details = [
    packed("ErrorInfo", ErrorInfo, { reason: error.reason, domain, metadata: clipped(error.metadata) }),
  ];
  if (error.violations.length > 0) {
    details.push(packed("BadRequest", BadRequest, { fieldViolations: firstOf(error.violations) }));
  }
  if (error.retryAfterMs !== undefined) {
    const retryDelay = {
      seconds: Math.floor(error.retryAfterMs / 1000),
      nanos: (error.retryAfterMs % 1000) * 1_000_000,
    };
    details.push(packed("RetryInfo", RetryInfo, { retryDelay }));
  }
  const metadata = new Metadata();
  const status = Status.encode({ code, message: error.message, details }).finish();
  metadata.set("grpc-status-details-bin", Buffer.from(status));
  return Object.assign(new Error(error.message), {
    name: "ServiceError",
    code,
    details: error.message,
    metadata,
  });
}

interface Encoder<T> {
  encode(message: T): { finish(): Uint8Array };
}

function packed<T>(name: string, codec: Encoder<T>, message: T) {
  return {
    typeUrl: `type.googleapis.com/google.rpc.${name}`,
    value: Buffer.from(codec.encode(message).finish()),
  };
}

function firstOf(violations: readonly FieldViolation[]): readonly FieldViolation[] {
  let bytes = 0;
  const end = violations.findIndex(({ field, description }, index) => {
    bytes += Buffer.byteLength(field) + Buffer.byteLength(description) + 8;
    return index > 0 && bytes > maxViolationBytes;
  });
  return end < 0 ? violations : violations.slice(0, end);
}

function clipped(metadata: Readonly<Record<string, string>>): { [key: string]: string } {
  return Object.fromEntries(
    Object.entries(metadata).map(([key, value]) => [
      key,
      value.length > 512 ? `${value.slice(0, 511)}…` : value,
    ]),
  );
}
