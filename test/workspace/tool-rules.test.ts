import { describe, expect, it } from "vitest";
import { defaultPromptTexts } from "../../src/domain/prompt-texts.js";
import { LoopRule, type ToolRule } from "../../src/domain/workspace.js";
import { renderToolRules } from "../../src/workspace/tool-rules.js";

const rules: readonly ToolRule[] = [
  { tool: "send_message", rule: { $case: "loop", value: LoopRule.EXIT } },
  { tool: "search", rule: { $case: "loop", value: LoopRule.CONTINUE } },
  { tool: "api_request", rule: { $case: "maxCalls", value: 3 } },
  { tool: "delete", rule: { $case: "maxCalls", value: 1 } },
  { tool: "delete", rule: { $case: "requiresPrior", value: "confirm" } },
  { tool: "context", rule: { $case: "loop", value: LoopRule.START } },
];

describe("renderToolRules", () => {
  it("puts start constraints first, then all others in their order", () => {
    expect(renderToolRules(rules)).toBe(`# Tool Execution Rules

- Call \`context\` first before any other tools
- The conversation will end after calling \`send_message\`
- The conversation will be continued after calling \`search\`
- Call \`api_request\` at most 3 times
- Call \`delete\` at most once
- Call \`delete\` only after calling: confirm`);
  });

  it("is empty without rules", () => {
    expect(renderToolRules([])).toBe("");
    expect(renderToolRules([{ tool: "x", rule: undefined }])).toBe("");
  });

  it("takes every fixed word from the templates", () => {
    const texts = {
      ...defaultPromptTexts,
      "tool-rules-heading": "Rules:",
      "tool-rules-line": "* {{rule}}",
      "tool-rules-exit-loop": "{{tool}} ends it",
    };
    expect(renderToolRules(rules.slice(0, 1), texts)).toBe("Rules:\n\n* send_message ends it");
  });
});
