import { describe, expect, test } from "vitest";
import { defaultKnobTable, deriveSettings, parseKnobTable } from "../../src/capsule/knobs.js";
import { body } from "./capsule-calls.js";

const derive = (knobs: object) => deriveSettings(body({ knobs }), defaultKnobTable);
const weak = { system: 0.2, history: 0.2, memory: 0.2, tools: 0.2, buffer: 0.2 };
const middle = { system: 0.15, history: 0.3, memory: 0.25, tools: 0.2, buffer: 0.1 };
const strong = { system: 0.1, history: 0.35, memory: 0.3, tools: 0.15, buffer: 0.1 };

describe("knobs", () => {
  test.each([
    [1, 8_192, weak, 5],
    [3, 8_192, weak, 5],
    [4, 32_768, middle, 15],
    [6, 32_768, middle, 15],
    [7, 131_072, strong, 25],
    [8, 131_072, strong, 25],
    [9, undefined, strong, 50],
    [10, undefined, strong, 50],
  ])("intelligence %i gives %s tokens, its lanes and its recall limit", (level, contextTokens, lanes, recallLimit) => {
    const settings = derive({ intelligenceLevel: level });
    expect(settings).toMatchObject({ intelligence: level, lanes, recallLimit, clamped: [] });
    expect(settings.contextTokens).toBe(contextTokens);
    expect(settings.lanesFrom).toBe("intelligence");
  });

  test.each([
    [1, "all"],
    [3, "all"],
    [4, "dangerous"],
    [6, "dangerous"],
    [7, "none"],
    [10, "none"],
  ])("autonomy %i asks for approval of %s tools", (level, toolApproval) => {
    expect(derive({ autonomyLevel: level }).toolApproval).toBe(toolApproval);
  });

  test("a knob that is not set is 5 in lanes and recall, limits no context, and is not reported", () => {
    expect(derive({})).toMatchObject({ intelligence: 5, autonomy: 5, resourceBudget: 5, clamped: [] });
    expect(derive({})).toMatchObject({ lanes: middle, recallLimit: 15, contextTokens: undefined });
  });

  test("a knob out of range is taken as the nearest one in it, and reported", () => {
    const settings = derive({ intelligenceLevel: 11, autonomyLevel: 0, resourceBudget: -7 });
    expect(settings).toMatchObject({ intelligence: 10, autonomy: 1, resourceBudget: 1 });
    expect(settings.clamped).toEqual([
      { knob: "intelligence_level", given: 11, used: 10 },
      { knob: "autonomy_level", given: 0, used: 1 },
      { knob: "resource_budget", given: -7, used: 1 },
    ]);
  });

  test("what the capsule says itself is stronger than its knobs", () => {
    const lanePreferences = { system: 0.1, history: 0.6, memory: 0.1, tools: 0.1, buffer: 0.1 };
    const persona = { memory: { recallLimit: 0, similarityThreshold: 0.4 } };
    const settings = deriveSettings(body(persona, { learned: { lanePreferences } }), defaultKnobTable);
    expect(settings).toMatchObject({ recallLimit: 0, similarityThreshold: 0.4 });
    expect(settings).toMatchObject({ lanes: lanePreferences, lanesFrom: "learned" });
  });

  test("an operator's table replaces the built-in one", () => {
    const table = parseKnobTable(
      JSON.stringify({
        ...defaultKnobTable,
        unset: 2,
        autonomy: [{ upTo: 10, toolApproval: "all" }],
      }),
    );
    expect(deriveSettings(body(), table)).toMatchObject({
      intelligence: 2,
      contextTokens: undefined,
      recallLimit: 5,
      toolApproval: "all",
    });
    expect(deriveSettings(body({ knobs: { autonomyLevel: 10 } }), table).toolApproval).toBe("all");
  });

  test("the built-in table is one that an operator could have written", () => {
    expect(parseKnobTable(JSON.stringify(defaultKnobTable))).toEqual(defaultKnobTable);
  });

  const [first, ...others] = defaultKnobTable.intelligence;
  test.each([
    ["an unknown key", JSON.stringify({ ...defaultKnobTable, autonomie: [] }), /autonomie/],
    [
      "a gap at the end",
      JSON.stringify({ ...defaultKnobTable, autonomy: [{ upTo: 9, toolApproval: "all" }] }),
      /end at 10/,
    ],
    [
      "bands in disorder",
      JSON.stringify({ ...defaultKnobTable, intelligence: [others[0], first, ...others] }),
      /ascending/,
    ],
    [
      "lanes that do not sum to 1",
      JSON.stringify({
        ...defaultKnobTable,
        intelligence: [{ ...first, lanes: { ...weak, buffer: 0.3 } }, ...others],
      }),
      /lanes must sum to 1/,
    ],
  ])("a table with %s is refused, with what is wrong", (_, json, problem) => {
    expect(() => parseKnobTable(json)).toThrow(problem);
  });
});
