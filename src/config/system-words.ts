import { getSystemErrorMap } from "node:util";

/** Why the system refused something, in its own words and without the path; of any other error the message, in one line. */
export function systemWords(error: unknown): string {
  const { code, message = String(error) } = (error ?? {}) as {
    readonly code?: unknown;
    readonly message?: string;
  };
  const known = [...getSystemErrorMap().values()].find(([name]) => name === code);
  return known?.[1] ?? message.replaceAll(/\s+/g, " ").trim();
}
