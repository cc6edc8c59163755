import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { extendCatalogue, findModel, parseCatalogue } from "../../src/models/catalogue.js";
import { modelFacts } from "../../src/models/model-entry.js";
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
  });

  test.each([
    ["claude-opus-4-5", "claude-opus-4-5-20251101"],
    ["claude-sonnet-4-5", "claude-sonnet-4-5@20250929"],
    ["claude-sonnet-4", "us.anthropic.claude-sonnet-4-20250514-v1:0"],
    ["claude-3-5-sonnet", "anthropic.claude-3-5-sonnet-20241022-v2:0"],
    ["claude-3-5-sonnet", "claude-3-5-sonnet-v2@20241022"],
    ["claude-3-5-sonnet", "claude-3-5-sonnet-latest"],
    ["claude-3-haiku", "anthropic.claude-3-haiku-20240307-v1:0:200k"],
    ["claude-opus-4-6", "global.anthropic.claude-opus-4-6-v1"],
    ["claude-opus-4-5", "anthropic/claude-opus-4.5:thinking"],
    ["claude-opus-4-5", "openrouter/anthropic/claude-opus-4.5"],
    ["claude-opus-4-6", "claude-opus-4-6[1m]"],
    ["claude-sonnet-4", "claude-4-sonnet-20250514"],
    [
      "claude-sonnet-4-5",
      "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ],
    ["gpt-4o", "gpt-4o-2024-08-06"],
    ["gpt-4o", "openai/gpt-4o-2024-11-20"],
    ["gpt-4o", "ft:gpt-4o-2024-08-06:acme:support:9abc"],
    ["gpt-4o-2024-05-13", "gpt-4o-2024-05-13"],
    ["gpt-5-chat", "gpt-5-chat-latest"],
    ["gpt-4o-search-preview", "gpt-4o-search-preview-2025-03-11"],
    ["o1-preview", "o1-preview-2024-09-12"],
    ["gemini-2.5-pro", "models/gemini-2.5-pro-preview-05-06"],
    ["gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025"],
    ["gemini-2.0-flash", "publishers/google/models/gemini-2.0-flash-001"],
    ["gemini-2.0-flash", "projects/p/locations/l/publishers/google/models/gemini-2.0-flash@default"],
    ["gemini-3.1-pro-preview", "google/gemini-3.1-pro-preview"],
  ])("has %s under the name %s", (name, given) => {
    expect(findModel(catalogue, given)).toEqual(findModel(catalogue, name));
    expect(findModel(catalogue, given)).toMatchObject({ name, known: true, family: "" });
  });

  test.each([
    ["claude-opus-6", "claude-fable-*", { contextTokens: 1_000_000, cache: { kind: "breakpoints" } }],
    ["claude-sonnet-4-9", "claude-opus-4-[7-9]*", { contextTokens: 1_000_000 }],
    ["anthropic/claude-neo", "claude-*", { contextTokens: 200_000 }],
    ["gpt-5.4-turbo", "gpt-5.4*", { contextTokens: 1_050_000, cache: { kind: "prefix" } }],
    ["gpt-99-20260101", "gpt-*", { contextTokens: 128_000 }],
    ["o5-mini", "o[0-9]*", { contextTokens: 200_000, parameters: ["max_tokens", "effort"] }],
    ["gemini-5-flash", "gemini-*", { contextTokens: 1_048_576, cache: { minTokens: 4_096 } }],
    ["meta-llama/Llama-3.3-70B-Instruct", "llama-*", { provider: "meta" }],
  ])("takes %s to be as its family %s, all of it assumed", (given, family, entry) => {
    const found = findModel(catalogue, given);
    expect(found).toMatchObject({ known: true, family, entry });
    expect(found.assumed).toEqual(modelFacts);
  });

  test("takes a model that nothing covers to have 128,000 tokens and an estimated vocabulary", () => {
    const found = findModel(catalogue, "mystery-20260101");
    expect(found).toMatchObject({
      known: false,
      name: "mystery",
      family: "",
      entry: { contextTokens: 128_000, vocabulary: null },
    });
    expect(scaleOf(found.entry).exact).toBe(false);
    expect(findModel(catalogue, "mystery-2026-01-01").name).toBe("mystery");
    expect(findModel(catalogue, "mystery-0613").name).toBe("mystery-0613");
    for (const odd of [
      "",
      "/",
      "-",
      "*",
      "__proto__",
      "claude",
      "o",
      "a".repeat(256),
      "ft:",
      "-latest-latest",
    ])
      expect(findModel(catalogue, odd).known, odd).toBe(false);
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

  test("says the same as the renderer of which Claude takes what", () => {
    for (const [name, { provider, parameters }] of catalogue.models) {
      if (provider !== "anthropic") continue;
      const rules = claudeRules(name);
      expect(parameters.includes("temperature"), name).toBe(rules.takesTemperature);
      expect(parameters.includes("thinking_adaptive"), name).toBe(rules.takesAdaptive);
      if (parameters.includes("thinking_budget")) expect(rules.takesBudget, name).toBe(true);
    }
  });

  test("lets an operator's entry say only what differs from its family, and add families", () => {
    const own = JSON.stringify({
      models: { "claude-opus-7": { contextTokens: 2_000_000 }, "gpt-5-house": { cache: { kind: "none" } } },
      families: [{ match: ["house-*"], contextTokens: 9_000, outputTokens: 1_000, vocabulary: "o200k_base" }],
    });
    const extended = extendCatalogue(catalogue, own);
    const { entry, assumed } = findModel(extended, "claude-opus-7");
    expect(entry).toMatchObject({
      contextTokens: 2_000_000,
      outputTokens: 128_000,
      cache: { minTokens: 512 },
    });
    expect(assumed).toEqual([]);
    expect(findModel(extended, "gpt-5-house").entry.cache).toMatchObject({ kind: "none", minTokens: 0 });
    expect(findModel(extended, "house-3-2026-01-01")).toMatchObject({
      name: "house-3",
      entry: { contextTokens: 9_000, cache: { kind: "none" } },
    });
    const lacking = '{ "models": { "house": { "contextTokens": 9 } } }';
    expect(() => extendCatalogue(catalogue, lacking)).toThrow(/models\.house.*outputTokens/s);
  });

  test("counts OpenAI's older models with their own vocabulary", () => {
    for (const name of ["gpt-4", "gpt-4-turbo-2024-04-09", "gpt-3.5-turbo-0125"]) {
      const { entry, known } = findModel(catalogue, name);
      expect(known, name).toBe(true);
      expect(scaleOf(entry)).toEqual({ vocabulary: "cl100k_base", exact: true, ratio: 1, margin: 0 });
    }
  });
});
