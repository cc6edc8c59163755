import { ConfigError } from "../config/config-error.js";
import { systemWords } from "../config/system-words.js";
import { QuireError } from "../errors/quire-error.js";
import { CliError } from "./cli-error.js";

/** Why a server did not start, in one line. */
export function startError(error: unknown): Error {
  if (error instanceof ConfigError) return error;
  const isFault = error instanceof QuireError && error.reason === "INTERNAL";
  return new CliError(`the server cannot start: ${systemWords(isFault ? error.cause : error)}`, {
    cause: error,
  });
}
