import { type Metadata, status } from "@grpc/grpc-js";
import { BadRequest, ErrorInfo, RetryInfo } from "./gen/google/rpc/error_details.js";
import { Status } from "./gen/google/rpc/status.js";

/** Why a call failed. */
export class QuireError extends Error {
  override readonly name = "QuireError";
  /** The name in the contract's `ErrorReason`, such as "HEAD_MOVED"; empty where the server was not reached or did not say. */
  readonly reason: string;
  /** The gRPC status, such as "ABORTED". */
  readonly code: string;
  /** What the reason says besides, such as `head_turn_id`. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields of the request that are wrong, as in "messages[1].role". */
  readonly fields: readonly string[];
  /** When the server says that it is worth another try. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, about: Partial<Omit<QuireError, keyof Error>>, options?: ErrorOptions) {
    super(message, options);
    this.reason = about.reason ?? "";
    this.code = about.code ?? "UNKNOWN";
    this.metadata = about.metadata ?? {};
    this.fields = about.fields ?? [];
    this.retryAfterMs = about.retryAfterMs;
  }

  /** The first wrong field; empty where none is. */
  get field(): string {
    return this.fields[0] ?? this.metadata.field ?? "";
  }

  /** Whatever a call threw, as a QuireError. */
  static from(thrown: unknown): QuireError {
    if (thrown instanceof QuireError) return thrown;
    const { code, details, metadata } = thrown as { code?: number; details?: string; metadata?: Metadata };
    if (typeof code !== "number" || typeof metadata?.get !== "function") return ofEngine(thrown);
    const [bytes] = metadata.get("grpc-status-details-bin");
    const found = bytes instanceof Buffer ? Status.decode(bytes).details : [];
    const find = (name: string) =>
      found.find(({ typeUrl }) => typeUrl.endsWith(`/google.rpc.${name}`))?.value;
    const [info, bad, retry] = [find("ErrorInfo"), find("BadRequest"), find("RetryInfo")];
    const { reason = "", metadata: about = {} } = info ? ErrorInfo.decode(info) : {};
    const delay = retry ? RetryInfo.decode(retry).retryDelay : undefined;
    return new QuireError(
      details || String(thrown),
      {
        reason,
        code: status[code] ?? "UNKNOWN",
        metadata: about,
        fields: bad ? BadRequest.decode(bad).fieldViolations.map(({ field }) => field) : [],
        retryAfterMs: delay && delay.seconds * 1_000 + delay.nanos / 1_000_000,
      },
      { cause: thrown },
    );
  }
}

/** An error of the engine in this process has a reason, and no code. */
function ofEngine(cause: unknown): QuireError {
  const { reason, metadata, violations } = Object(cause) as {
    reason?: unknown;
    metadata?: Record<string, string>;
    violations?: readonly { readonly field: string }[];
  };
  const message = cause instanceof Error ? cause.message : String(cause);
  if (typeof reason !== "string") return new QuireError(message, {}, { cause });
  const fields = violations?.map(({ field }) => field) ?? [];
  return new QuireError(message, { reason, metadata: metadata ?? {}, fields }, { cause });
}
