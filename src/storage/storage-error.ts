import { isDriverAdapterError } from "@prisma/driver-adapter-utils";
import { QuireError } from "../errors/quire-error.js";

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
]);

/** Primary SQLite codes for a disk that is full, broken or locked: BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN. */
const unavailableSqliteCodes = new Set([5, 6, 8, 10, 13, 14]);

/** PostgreSQL classes for lost connections, missing resources and operator intervention. */
const unavailablePostgresClasses = new Set(["08", "53", "57", "58"]);

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
]);

interface DriverFault {
  readonly kind?: string;
  readonly extendedCode?: number;
  readonly code?: string;
}

function driverFault(error: unknown): DriverFault | undefined {
  return isDriverAdapterError(error) ? (error.cause as DriverFault) : undefined;
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

/** What a caller may know of a storage failure: try again later, or that it is our fault. */
export function asStorageError(error: unknown): QuireError {
  if (error instanceof QuireError) return error;
  const fault = driverFault(error);
  const unavailable =
    unavailableKinds.has(fault?.kind ?? "") ||
    unavailablePrismaCodes.has(prismaCode(error) ?? "") ||
    (fault?.kind === "sqlite" && unavailableSqliteCodes.has((fault.extendedCode ?? 0) & 0xff)) ||
    (fault?.kind === "postgres" && unavailablePostgresClasses.has((fault.code ?? "").slice(0, 2)));
  if (!unavailable) return QuireError.from(error);
  return new QuireError("STORAGE_UNAVAILABLE", "the database cannot be used now; nothing was written", {
    retryAfterMs: 1_000,
    cause: error,
  });
}

/** The constraint violated and retried once more than this is a fault. */
export const raceRetries = 5;
