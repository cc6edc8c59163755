/** A setting that cannot be used. Says which one, where it came from, and what is wrong with it. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  constructor(readonly problems: readonly string[]) {
    const [first, ...others] = problems;
    const shown = others.length === 0 ? ` ${first}` : problems.map((problem) => `\n  - ${problem}`).join("");
    super(`the configuration cannot be used:${shown}`);
  }
}
