import { configOptions } from "../config/options.js";
import { QuireError } from "../errors/quire-error.js";
import { sqliteTrouble } from "./driver/sqlite-trouble.js";
import { sqlitePath } from "./sqlite-path.js";
import { driverError } from "./storage-error.js";

/** Why a database cannot be opened, in one sentence: the setting, the file or the server, what is wrong, and what to do. */
export async function openError(url: string, error: unknown): Promise<QuireError> {
  const thrown = error instanceof QuireError ? (error.cause ?? error) : error;
  const cause = driverError(thrown) ?? thrown;
  const trouble = url.startsWith("file:")
    ? sqliteTrouble(sqlitePath(url), cause).message
    : (await import("./driver/postgres-trouble.js")).postgresTrouble(url, cause);
  const message = `${configOptions.database.flag} cannot be used: ${trouble}`;
  return new QuireError("STORAGE_UNAVAILABLE", message, { cause: error });
}
