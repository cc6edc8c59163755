import { describe, expect, test } from "vitest";
import { mergeSettings } from "../../src/capsule/context-settings.js";
import {
  BudgetPolicy,
  CompressionStrategy,
  ContextSettings,
} from "../../src/contract/gen/quire/v1/context_settings.js";
import { parseContextSettings } from "../../src/server/validation/settings-file.js";

const settings = ContextSettings.create;

describe("mergeSettings", () => {
  test("what nobody sets has its default", () => {
    const defaults = {
      includeDescriptions: true,
      includeSchemas: true,
      includeBlockSchemas: false,
      activityLimit: 10,
      compaction: {
        strategy: CompressionStrategy.SUMMARY,
        summarizers: ["extractive"],
        keepRecent: undefined,
        chunkTokens: undefined,
        summarizationModel: "",
        halfLifeTurns: 16,
        summaryTokens: undefined,
        softThreshold: 0.85,
      },
      isPrefixLive: false,
      maxMessages: undefined,
      keepTurns: 3,
      policy: BudgetPolicy.ELASTIC,
      reserveResponseTokens: 8_192,
      reserveToolTokens: 16_384,
      isReserveSet: { response: false, tool: false },
      modelLimits: new Map(),
      defaultLimits: { model: "" },
      sources: new Map(),
      hasBasePrompt: false,
      sovereignRounds: undefined,
    };
    expect(mergeSettings(undefined, undefined, undefined)).toEqual(defaults);
    expect(mergeSettings(settings(), settings(), settings())).toEqual(defaults);
  });

  test("a request is stronger than a capsule, and a capsule than the server, field by field", () => {
    const merged = mergeSettings(
      settings({ activityLimit: 1, keepTurns: 1, maxMessages: 1, policy: BudgetPolicy.STRICT_FAIL }),
      settings({ activityLimit: 2, keepTurns: 2, reserveToolTokens: 200 }),
      settings({ activityLimit: 3, policy: BudgetPolicy.STRICT_TRUNCATE }),
    );
    expect(merged).toMatchObject({ activityLimit: 3, keepTurns: 2, maxMessages: 1, reserveToolTokens: 200 });
    expect(merged.policy).toBe(BudgetPolicy.STRICT_TRUNCATE);
    expect(merged.isReserveSet).toEqual({ response: false, tool: true });
  });

  test("false and 0 are values, too", () => {
    const merged = mergeSettings(
      settings({ includeSchemas: true, activityLimit: 5 }),
      settings({ includeSchemas: false, activityLimit: 0, reserveResponseTokens: 0 }),
      undefined,
    );
    expect(merged).toMatchObject({ includeSchemas: false, activityLimit: 0, reserveResponseTokens: 0 });
  });

  test("limits of models are merged by name, and each limit by itself", () => {
    const merged = mergeSettings(
      settings({
        modelLimits: [
          { model: "a", maxTokens: 100, memoryTokens: 10 },
          { model: "b", maxTokens: 7 },
        ],
      }),
      settings({ modelLimits: [{ model: "a", memoryTokens: 20 }] }),
      settings({ modelLimits: [{ model: "a", historyTokens: 30 }] }),
    );
    expect([...merged.modelLimits.keys()]).toEqual(["a", "b"]);
    expect(merged.modelLimits.get("a")).toEqual({
      model: "a",
      maxTokens: 100,
      memoryTokens: 20,
      historyTokens: 30,
    });
    expect(merged.modelLimits.get("b")).toEqual({ model: "b", maxTokens: 7 });
  });
});

describe("parseContextSettings", () => {
  test("reads the contract's fields, and leaves out what is not set", () => {
    const settings = parseContextSettings(
      '{ "keepTurns": 5, "modelLimits": [{ "model": "gpt-4o", "historyTokens": 9 }] }',
    );
    expect(mergeSettings(settings, undefined, undefined)).toMatchObject({ keepTurns: 5, activityLimit: 10 });
    expect(settings.modelLimits).toEqual([{ model: "gpt-4o", historyTokens: 9 }]);
  });

  test.each([
    ['{ "keepTurns": 0 }', "keep_turns"],
    ['{ "modelLimits": [{ "model": "m", "maxTokens": 0 }] }', "model_limits[0].max_tokens"],
    ['{ "modelLimits": [{ "model": "m-20250101" }] }', "model_limits[0].model"],
    ['{ "keepTurns": 0, "softThreshold": 2 }', "soft_threshold"],
    ['{ "policy": "LOOSE" }', "BudgetPolicy"],
    ['{ "surprise": 1 }', "surprise"],
    ['{ "modelLimits": [{ "historyTokens": 9 }] }', "model_limits[0].model"],
    ["[]", "ContextSettings"],
  ])("refuses %s, and names %s", (json, name) => {
    expect(() => parseContextSettings(json)).toThrow(name);
  });
});
