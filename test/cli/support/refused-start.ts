import { expect } from "vitest";
import type { CliRun } from "./run-cli.js";

/** `quire serve` on a free port. */
export function serve(...args: readonly string[]): readonly string[] {
  return ["serve", "--listen", "127.0.0.1:0", ...args];
}

/** It ended by itself, and said one line, on stderr: what it could not use, and why. */
export function expectOneLine(
  { code, out, err }: CliRun,
  exitCode: number,
  ...words: readonly string[]
): void {
  expect({ err, code, out }).toEqual({
    err: expect.stringMatching(/^error: .+\n$/),
    code: exitCode,
    out: "",
  });
  expect(err).not.toMatch(/internal error|node:internal|\.js:\d/);
  for (const word of words) expect(err).toContain(word);
}
