import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import type { RenderedBody } from "../../src/rendering/render-input.js";

/** `UPDATE_GOLDEN=1` writes the files anew; what changed is then in the diff. */
const isUpdate = process.env.UPDATE_GOLDEN === "1";

/** `name` is a context's and a format's, as in "images.gemini". */
export function expectGoldenBody(name: string, body: RenderedBody): void {
  const file = join(packageRoot, "test", "golden", "rendering", `${name}.json`);
  const text = `${JSON.stringify(body, undefined, 2)}\n`;
  if (isUpdate) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text, `test/golden/rendering/${name}.json`).toBe(readFileSync(file, "utf8"));
}
