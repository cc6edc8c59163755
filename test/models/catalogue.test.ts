import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { extendCatalogue, findModel, parseCatalogue } from "../../src/models/catalogue.js";
import { scaleOf } from "../../src/models/token-scale.js";
import { claudeRules } from "../../src/rendering/anthropic/models.js";

const catalogue = parseCatalogue(readFileSync(join(packageRoot, "src", "models", "catalogue.json"), "utf8"));

describe("the model catalogue", () => {
  test("finds a model by its name, with or without a date", () => {
    const plain = findModel(catalogue, "gpt-4o");
    expect(plain).toMatchObject({
      known: true,
      name: "gpt-4o",
      entry: { contextTokens: 128_000, vocabulary: "o200k_base" },
    });
    for (const dated of ["gpt-4o-20240806", "gpt-4o-2024-08-06", "gpt-4o@20240806"])
      expect(findModel(catalogue, dated), dated).toEqual(plain);
    expect(findModel(catalogue, "gpt-4-0613")).toEqual(findModel(catalogue, "gpt-4"));
    for (const other of ["gpt-4o-2024", "gpt-4o-2024-08", "gpt-4o-20240806-preview"])
      expect(findModel(catalogue, other).known, other).toBe(false);
  });

  test("takes an unknown model to have 128,000 tokens and an estimated vocabulary", () => {
    const found = findModel(catalogue, "gpt-99-20260101");
    expect(found).toMatchObject({
      known: false,
      name: "gpt-99",
      entry: { contextTokens: 128_000, vocabulary: null },
    });
    expect(scaleOf(found.entry).exact).toBe(false);
    expect(findModel(catalogue, "gpt-99-2026-01-01").name).toBe("gpt-99");
    expect(findModel(catalogue, "gpt-99-0613").name).toBe("gpt-99-0613");
    expect(findModel(catalogue, "").known).toBe(false);
  });

  test("has a model with a name of its own before the same name without its date", () => {
    const own = JSON.stringify({
      models: { "gpt-4o-20240806": { contextTokens: 5, outputTokens: 1, vocabulary: null } },
    });
    expect(findModel(extendCatalogue(catalogue, own), "gpt-4o-20240806").entry.contextTokens).toBe(5);
  });

  test("lets an operator add models, replace them, and replace the fallback", () => {
    const own = JSON.stringify({
      fallback: { contextTokens: 4_096, outputTokens: 1_024, vocabulary: null },
      models: {
        "gpt-4o": { contextTokens: 64_000, outputTokens: 1_024, vocabulary: "o200k_base" },
        house: { contextTokens: 32_000, outputTokens: 1_024, vocabulary: null, ratio: 1.4, margin: 0.2 },
      },
    });
    const extended = extendCatalogue(catalogue, own);
    expect(findModel(extended, "gpt-4o").entry.contextTokens).toBe(64_000);
    expect(scaleOf(findModel(extended, "house").entry)).toEqual({
      vocabulary: "o200k_base",
      exact: false,
      ratio: 1.4,
      margin: 0.2,
    });
    expect(findModel(extended, "nobody").entry.contextTokens).toBe(4_096);
    expect(findModel(extended, "claude-haiku-4-5")).toEqual(findModel(catalogue, "claude-haiku-4-5"));
  });

  test("refuses a file with what it does not know", () => {
    expect(() => extendCatalogue(catalogue, '{ "modles": {} }')).toThrow();
    expect(() =>
      extendCatalogue(
        catalogue,
        '{ "models": { "x": { "contextTokens": 0, "outputTokens": 1, "vocabulary": null } } }',
      ),
    ).toThrow();
    expect(() => parseCatalogue('{ "models": {} }')).toThrow("fallback");
  });

  test("has the models of the README, the documentation and the examples", () => {
    const files = ["README.md", "docs", "examples"].flatMap((entry) => {
      const path = join(packageRoot, entry);
      if (!statSync(path).isDirectory()) return [path];
      return readdirSync(path, { recursive: true, encoding: "utf8" })
        .filter((name) => /\.(md|ts|py|go|mjs)$/.test(name) && !name.includes("node_modules"))
        .map((name) => join(path, name));
    });
    const named = files.flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/"model"?: *"([^"]+)"|Model: *"([^"]+)"|model="([^"]+)"/g)].map(
        ([, a, b, c]) => a ?? b ?? c!,
      ),
    );
    expect(named).toContain("gpt-5");
    for (const name of named) expect(findModel(catalogue, name).known, name).toBe(true);
  });

  test("says the same as the renderer of which Claude takes a temperature", () => {
    for (const [name, { provider, takesTemperature }] of catalogue.models)
      if (provider === "anthropic") expect(takesTemperature, name).toBe(claudeRules(name).takesTemperature);
  });

  test("counts OpenAI's older models with their own vocabulary", () => {
    for (const name of ["gpt-4", "gpt-4-turbo-2024-04-09", "gpt-3.5-turbo-0125"]) {
      const { entry, known } = findModel(catalogue, name);
      expect(known, name).toBe(true);
      expect(scaleOf(entry)).toEqual({ vocabulary: "cl100k_base", exact: true, ratio: 1, margin: 0 });
    }
  });
});
