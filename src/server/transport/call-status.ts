import type { OutgoingHttpHeaders } from "node:http2";
import { status as Code, type Metadata } from "@grpc/grpc-js";

/** What a call ends with. */
export interface CallStatus {
  readonly code: Code;
  readonly details: string;
  readonly metadata?: Metadata | undefined;
}

const okHeaders: OutgoingHttpHeaders = { "grpc-status": String(Code.OK) };

/** The headers that stand for it. */
export function statusHeaders(status: CallStatus | undefined): OutgoingHttpHeaders {
  if (!status) return okHeaders;
  return {
    "grpc-status": String(status.code),
    // By way of a buffer, which replaces the halves of characters that cannot be escaped.
    "grpc-message": encodeURI(Buffer.from(status.details).toString()),
    ...status.metadata?.toHttp2Headers(),
  };
}
