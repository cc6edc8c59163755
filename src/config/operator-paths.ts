import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { ConfigError } from "./config-error.js";
import { type Config, configOptions } from "./options.js";
import { systemWords } from "./system-words.js";

/**
 * Throws a ConfigError where a path cannot lead to what an operator writes while the server runs. A prime.md that is not there may come,
 * and what is in a file is looked at when it is used.
 */
export function assertOperatorPaths(config: Pick<Config, "primeFile" | "templatesFolder">): void {
  const { primeFile, templatesFolder } = config;
  const problems: string[] = [];
  const check = (key: keyof typeof config, look: () => void) => {
    try {
      if (config[key]) look();
    } catch (error) {
      problems.push(`${configOptions[key].flag} ${config[key]} cannot be read: ${systemWords(error)}`);
    }
  };
  check("primeFile", () => {
    const found = statSync(primeFile, { throwIfNoEntry: false });
    if (found && !found.isFile()) throw new Error("it is not a file");
    if (found) accessSync(primeFile, constants.R_OK);
  });
  check("templatesFolder", () => readdirSync(templatesFolder));
  if (problems.length > 0) throw new ConfigError(problems);
}
