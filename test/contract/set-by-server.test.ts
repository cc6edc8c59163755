import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";

const folder = join(packageRoot, "proto", "quire", "v1");
const fieldWithComment = /((?: *\/\/.*\n)+) *(?:repeated |optional )?[\w.]+ (\w+) = \d+([^;]*);/g;

test("a field says in words that the server sets it, and so do its options", () => {
  const fields = readdirSync(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), "utf8").matchAll(fieldWithComment)].map(
      ([, comment, name, options]) => ({
        field: `${file} ${name}`,
        inWords: /Set by the\s+(?:\/\/ )?server\./.test(comment!),
        inOptions: options!.includes("(google.api.field_behavior) = OUTPUT_ONLY"),
      }),
    ),
  );
  expect(fields.filter(({ inWords, inOptions }) => inWords !== inOptions)).toEqual([]);
  expect(fields.filter(({ inOptions }) => inOptions)).toHaveLength(20);
});
