import { isDriverAdapterError } from "@prisma/driver-adapter-utils";
import { QuireError } from "../errors/quire-error.js";
import { LostDatabase } from "./driver/database-file.js";
import { postgresError } from "./driver/postgres-errors.js";
import { UnansweredCommit } from "./driver/unanswered-commit.js";

const unavailableKinds = new Set([
  "DatabaseNotReachable",
  "DatabaseDoesNotExist",
  "DatabaseAccessDenied",
  "AuthenticationFailed",
  "ConnectionClosed",
  "TlsConnectionError",
  "TooManyConnections",
  "SocketTimeout",
  "TransactionAlreadyClosed",
  // Lost again and again: see raceRetries.
  "TransactionWriteConflict",
]);

/** Primary SQLite codes for a disk that is full, broken or locked: BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN. */
const unavailableSqliteCodes = new Set([5, 6, 8, 10, 13, 14]);

/** PostgreSQL classes for lost connections, missing resources and operator intervention. */
const unavailablePostgresClasses = new Set(["08", "53", "57", "58"]);

/**
 * Read-only and in recovery, as a server is after a failover; a transaction that the server ended because it took too long; a lock
 * that was not to be had in time.
 */
const unavailablePostgresCodes = new Set(["25006", "25P03", "25P04", "55000", "55P03"]);

const unavailablePrismaCodes = new Set([
  "P1000",
  "P1001",
  "P1002",
  "P1003",
  "P1008",
  "P1010",
  "P1017",
  "P2024",
  "P2028",
  "P2034",
]);

interface DriverFault {
  readonly kind?: string;
  readonly extendedCode?: number;
  readonly code?: string;
}

/** What the driver threw: Prisma wraps what it has no code of its own for, as P2010 and P2039. */
export function driverError(error: unknown): unknown {
  if (isDriverAdapterError(error)) return error;
  return (error as { meta?: { driverAdapterError?: unknown } } | null)?.meta?.driverAdapterError;
}

function driverFault(error: unknown): DriverFault | undefined {
  const known = driverError(error) ?? postgresError(error);
  return isDriverAdapterError(known) ? (known.cause as DriverFault) : undefined;
}

function prismaCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^P\d{4}$/.test(code) ? code : undefined;
}

/** Another writer was faster: the same statement may succeed, or say why not, when it is run again. */
export function isRaceLost(error: unknown): boolean {
  const kind = driverFault(error)?.kind;
  const code = prismaCode(error);
  return (
    kind === "UniqueConstraintViolation" ||
    kind === "TransactionWriteConflict" ||
    code === "P2002" ||
    code === "P2034"
  );
}

/** No write fares better alone: the database is lost, did not answer, or nobody knows whether it did what it was told. */
export function failsAll(error: unknown): boolean {
  const known = driverError(error);
  if (error instanceof QuireError || known instanceof UnansweredCommit || known instanceof LostDatabase)
    return true;
  return driverFault(error)?.kind === "SocketTimeout";
}

/** What a caller may know of a storage failure: try again later, or that it is our fault. */
export function asStorageError(error: unknown): QuireError {
  if (error instanceof QuireError) return error;
  const known = driverError(error);
  if (known instanceof LostDatabase) {
    const message = `the database file was ${known.why}: nothing is written until the server is started again`;
    return new QuireError("DATABASE_LOST", message, { metadata: { why: known.why }, cause: error });
  }
  if (known instanceof UnansweredCommit) {
    return new QuireError(
      "COMMIT_OUTCOME_UNKNOWN",
      "the database did not answer the commit: it may have happened; the same request with the same request_id tells",
      { retryAfterMs: 1_000, cause: error },
    );
  }
  return isUnavailable(error)
    ? unavailable("the database cannot be used now; nothing was written", error)
    : QuireError.from(error);
}

function isUnavailable(error: unknown): boolean {
  const { kind = "", extendedCode = 0, code = "" } = driverFault(error) ?? {};
  if (unavailableKinds.has(kind) || unavailablePrismaCodes.has(prismaCode(error) ?? "")) return true;
  if (kind === "sqlite") return unavailableSqliteCodes.has(extendedCode & 0xff);
  if (kind !== "postgres") return false;
  return unavailablePostgresClasses.has(code.slice(0, 2)) || unavailablePostgresCodes.has(code);
}

function unavailable(message: string, cause: unknown): QuireError {
  return new QuireError("STORAGE_UNAVAILABLE", message, { retryAfterMs: 1_000, cause });
}

/** The constraint violated and retried once more than this is a fault. */
export const raceRetries = 5;
