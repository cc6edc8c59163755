import { type Check, fail, ok } from "./check.js";

const TIMEOUT_MS = 5_000;

/** Whether the PostgreSQL server that is configured lets us in. Changes nothing there. */
export async function checkPostgres(connectionString: string): Promise<Check> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ readonly server_version: string }>("SHOW server_version");
    return ok("PostgreSQL", rows[0]?.server_version ?? "answers");
  } catch (error) {
    const hint = "is it running, and are host, user, password and database of --database right?";
    return fail(
      "PostgreSQL",
      (error as Error).message || (error as NodeJS.ErrnoException).code || "no answer",
      hint,
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}
