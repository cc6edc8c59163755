import { defaultPromptTexts, fill, type PromptTexts } from "../domain/prompt-texts.js";
import { LoopRule, type ToolRule } from "../domain/workspace.js";

/** The rules as a section of a prompt: start constraints first, then in the given order. Empty without rules. */
export function renderToolRules(rules: readonly ToolRule[], texts: PromptTexts = defaultPromptTexts): string {
  const isStart = ({ rule }: ToolRule) => rule?.value === LoopRule.START;
  const ordered = [...rules.filter(isStart), ...rules.filter((rule) => !isStart(rule))];
  const lines = ordered.map((rule) => ruleText(rule, texts)).filter((rule) => rule !== "");
  if (lines.length === 0) return "";
  const heading = texts["tool-rules-heading"];
  return [
    ...(heading === "" ? [] : [heading, ""]),
    ...lines.map((rule) => fill(texts["tool-rules-line"], { rule })),
  ].join("\n");
}

const loopTexts = {
  LOOP_RULE_START: "tool-rules-start-constraint",
  LOOP_RULE_EXIT: "tool-rules-exit-loop",
  LOOP_RULE_CONTINUE: "tool-rules-continue-loop",
  LOOP_RULE_UNSPECIFIED: undefined,
  UNRECOGNIZED: undefined,
} as const;

/** Empty for a rule that says nothing. */
function ruleText({ tool, rule }: ToolRule, texts: PromptTexts): string {
  if (!rule) return "";
  switch (rule.$case) {
    case "maxCalls": {
      const name = rule.value === 1 ? "tool-rules-max-one-call" : "tool-rules-max-calls";
      return fill(texts[name], { tool, count: rule.value });
    }
    case "requiresPrior":
      return fill(texts["tool-rules-requires-prior"], { tool, prior: rule.value });
    case "loop": {
      const name = loopTexts[rule.value];
      return name ? fill(texts[name], { tool }) : "";
    }
  }
}
