import pg from "pg";
import { systemWords } from "../../config/system-words.js";
import { MigrationError } from "./migration-history.js";
import { postgresError } from "./postgres-errors.js";

interface Failure {
  readonly code?: string;
  readonly severity?: string;
}

/** Why the PostgreSQL database at `url` cannot be used, from what connecting to it threw. Never holds the password. */
export function postgresTrouble(url: string, error: unknown): string {
  const client = unconnected(url);
  if (!client)
    return "its address cannot be read; write postgresql://user:password@host:port/name, with special characters percent-encoded";
  const { host, port, user, database } = client;
  const server = `PostgreSQL at ${host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`}`;
  const words = systemWords(error);
  const { code, severity } = error as Failure;
  if (code === "28P01" || code === "28000")
    return `${server} refuses the user ${user} (${words}); check user and password`;
  if (code === "3D000") return `${server} has no database ${database}; create it, or name another one`;
  if (severity !== undefined) return `${server} refuses work on the database ${database}: ${words}`;
  if (error instanceof MigrationError) return `the database ${database} of ${server}: ${words}`;
  switch (faultKind(error)) {
    case "DatabaseNotReachable":
      return `${server} cannot be reached (${words}); is it running, and are host and port right?`;
    case "SocketTimeout":
      return `${server} does not answer in time; is it running, and are host and port right?`;
    case "ConnectionClosed":
      return `what answers at ${server.slice("PostgreSQL at ".length)} closes the connection; is it PostgreSQL?`;
    default:
      return `${server}: ${words}`;
  }
}

function unconnected(url: string): pg.Client | undefined {
  try {
    return new pg.Client({ connectionString: url });
  } catch {
    return undefined;
  }
}

function faultKind(error: unknown): string | undefined {
  return (postgresError(error) as { readonly cause?: { readonly kind?: string } }).cause?.kind;
}
