import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { ConfigError } from "../../src/config/config-error.js";
import { parseSettingFile } from "../../src/config/setting-file.js";
import { tempFolder } from "../support/temp-folder.js";

function problem(text: string, parse: (text: string) => unknown = JSON.parse): string {
  const path = join(tempFolder(), "file.json");
  writeFileSync(path, text);
  try {
    parseSettingFile("--some-file", path, parse);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.problems).toHaveLength(1);
    return error.problems[0]!.replace(path, "<path>");
  }
  return "";
}

test("setting-file: what is not JSON is said in one line, without a piece of the file", () => {
  for (const text of [
    '{ "key": "sk-12345" oops',
    "sk-12345",
    '{\n "key":\n  "sk-12345\n" }',
    '["sk-12345"',
  ]) {
    expect(problem(text)).toMatch(/^--some-file <path> cannot be used: it is not JSON: [^\n]+$/);
    expect(problem(text)).not.toContain("12345");
  }
});

test("setting-file: the first problems are said with where they are, the others are counted", () => {
  const numbers = z.object({ numbers: z.array(z.number({ error: "no number" })) });
  const parse = (text: string) => numbers.parse(JSON.parse(text));
  expect(problem('{ "numbers": [1, 2] }', parse)).toBe("");
  expect(problem('{ "numbers": [1, "2"] }', parse)).toBe(
    "--some-file <path> cannot be used: numbers.1: no number",
  );
  expect(problem('{ "numbers": ["1", "2", "3", "4", "5"] }', parse)).toBe(
    "--some-file <path> cannot be used: numbers.0: no number; numbers.1: no number; numbers.2: no number; and 2 more",
  );
});
