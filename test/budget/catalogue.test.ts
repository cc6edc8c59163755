import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { extendCatalogue, findModel, parseCatalogue } from "../../src/budget/catalogue.js";
import { scaleOf } from "../../src/budget/token-scale.js";
import { packageRoot } from "../../src/config/package-root.js";

const catalogue = parseCatalogue(readFileSync(join(packageRoot, "src", "budget", "catalogue.json"), "utf8"));

describe("the model catalogue", () => {
  test("finds a model by its name, with or without a date", () => {
    const plain = findModel(catalogue, "gpt-4o");
    expect(plain).toMatchObject({
      known: true,
      name: "gpt-4o",
      entry: { contextTokens: 128_000, vocabulary: "o200k_base" },
    });
    expect(findModel(catalogue, "gpt-4o-20240806")).toEqual(plain);
    expect(findModel(catalogue, "gpt-4o-2024").known).toBe(false);
  });

  test("takes an unknown model to have 128,000 tokens and an estimated vocabulary", () => {
    const found = findModel(catalogue, "gpt-99-20260101");
    expect(found).toMatchObject({
      known: false,
      name: "gpt-99",
      entry: { contextTokens: 128_000, vocabulary: null },
    });
    expect(scaleOf(found.entry).exact).toBe(false);
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
    expect(scaleOf(findModel(extended, "house").entry)).toEqual({ exact: false, ratio: 1.4, margin: 0.2 });
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
});
