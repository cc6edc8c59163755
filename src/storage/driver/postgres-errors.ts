import { DriverAdapterError, type MappedError } from "@prisma/driver-adapter-utils";
import { UnansweredCommit } from "./unanswered-commit.js";

const lostConnections =
  /^Connection terminated|^Client (has encountered a connection error|was closed)|^Cannot use a pool after/;
const timeouts =
  /^timeout exceeded when trying to connect|^timeout expired|^Query read timeout|terminated due to connection timeout$/;
const lostCodes = new Set(["ECONNRESET", "EPIPE"]);
const unreachableCodes = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "EHOSTDOWN", "ENETUNREACH", "ENETDOWN"],
  "ENOENT",
]);

/** PostgreSQL's codes after which a commit certainly did not happen: a constraint that was checked last, a race that was lost. */
const refusals = /^(23...|40001|40002|40P01)$/;

/** The driver has no codes for connections that it lost, and its adapter lets those errors through as they are. */
export function postgresError(error: unknown): unknown {
  if (error instanceof DriverAdapterError || !(error instanceof Error)) return error;
  const mapped = mappedError(error);
  return mapped ? new DriverAdapterError({ originalMessage: error.message, ...mapped }) : error;
}

/** What a COMMIT failed with: as it is where the server refused it, else as unanswered. */
export function commitError(error: unknown): unknown {
  const code = error instanceof DriverAdapterError ? error.cause.originalCode : undefined;
  if (code !== undefined && refusals.test(code)) return error;
  return new UnansweredCommit({ kind: "ConnectionClosed", originalMessage: String(error) });
}

function mappedError(error: Error & { readonly code?: unknown; readonly severity?: unknown }) {
  const { message } = error;
  const code = typeof error.code === "string" ? error.code : "";
  if (typeof error.severity === "string") return serverError(code, error.severity, message);
  if (timeouts.test(message) || code === "ETIMEDOUT") return { kind: "SocketTimeout" } as const;
  if (lostConnections.test(message) || lostCodes.has(code)) return { kind: "ConnectionClosed" } as const;
  return unreachableCodes.has(code) ? ({ kind: "DatabaseNotReachable" } as const) : undefined;
}

/** As the server sent it to a connection that is not the adapter's. */
function serverError(code: string, severity: string, message: string): MappedError {
  return { kind: "postgres", code, severity, message, detail: undefined, column: undefined, hint: undefined };
}
