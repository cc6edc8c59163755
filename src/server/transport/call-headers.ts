import type { IncomingHttpHeaders } from "node:http2";

const grpcType = "application/grpc";
const timeoutForm = /^(\d{1,8})\s*([HMSmun])$/;
const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};

export function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith(grpcType) ?? false;
}

/** How long the caller waits, in ms: undefined when it did not say, NaN when it said so in a way that cannot be read. */
export function timeoutOf(headers: IncomingHttpHeaders): number | undefined {
  const said = headers["grpc-timeout"];
  if (said === undefined) return undefined;
  const [, count, unit] = timeoutForm.exec(String(said)) ?? [];
  return Number(count) * unitMs[unit!]!;
}

/** What a message is compressed with, where its prefix says that it is. */
export function encodingOf(headers: IncomingHttpHeaders): string {
  return String(headers["grpc-encoding"] ?? "identity");
}
