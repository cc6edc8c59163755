import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { findModel, parseCatalogue } from "../../src/models/catalogue.js";

test("docs/models.md has every model that the SDKs name, each with a family and a cache plan", () => {
  const said = execFileSync(process.execPath, [join(packageRoot, "scripts", "models.mjs"), "--check"], {
    encoding: "utf8",
  });
  expect(said).toContain("docs/models.md says what the catalogue and the SDKs do");
  const page = readFileSync(join(packageRoot, "docs", "models.md"), "utf8");
  const names = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(100);
  const catalogue = parseCatalogue(
    readFileSync(join(packageRoot, "src", "models", "catalogue.json"), "utf8"),
  );
  const { cache, contextTokens } = findModel(catalogue, "claude-opus-5-5").entry;
  expect({ kind: cache.kind, contextTokens }).toEqual({ kind: "breakpoints", contextTokens: 1_000_000 });
  const older =
    /^(?:gpt-3|gpt-4(?:-|$)|gpt-4o.*(?:audio|search)|chatgpt|computer|gemini.*(?:-live|2\.0))|^gemini-live/;
  for (const name of names) {
    const { entry, known } = findModel(catalogue, name);
    expect(known, name).toBe(true);
    // Only what was never cached has no cache.
    const plain = name.replace("models/", "");
    expect(entry.cache.kind === "none", name).toBe(older.test(plain));
  }
});
