import { readFileSync } from "node:fs";
import { ZodError } from "zod";
import { ConfigError } from "./config-error.js";
import { systemWords } from "./system-words.js";

/** Reads the file that a setting names. Throws a ConfigError that says which setting, which file and why. */
export function readSettingFile(setting: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ConfigError([`${setting} ${path} cannot be read: ${systemWords(error)}`]);
  }
}

/** The same for a file that holds text of some form, which `parse` throws at where it is wrong. */
export function parseSettingFile<T>(setting: string, path: string, parse: (text: string) => T): T {
  const text = readSettingFile(setting, path).toString("utf8");
  try {
    return parse(text);
  } catch (error) {
    throw new ConfigError([`${setting} ${path} cannot be used: ${problemOf(error)}`]);
  }
}

const shownProblems = 3;

function problemOf(error: unknown): string {
  // Without the piece of the file that newer messages quote: it may be a key.
  if (error instanceof SyntaxError)
    return `it is not JSON: ${systemWords(error).replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/, "")}`;
  if (!(error instanceof ZodError)) return systemWords(error);
  const problems = error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message,
  );
  const more = problems.length - shownProblems;
  return `${problems.slice(0, shownProblems).join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}
