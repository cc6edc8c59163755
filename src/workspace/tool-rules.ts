import type { ToolRule } from "../domain/workspace.js";
import { fillTemplate } from "./fill-template.js";

/** The fixed words of the tool execution rules, which an operator can replace. */
export interface ToolRuleTemplates {
  readonly heading: string;
  readonly line: string;
  readonly startConstraint: string;
  readonly exitLoop: string;
  readonly continueLoop: string;
  readonly maxCalls: string;
  /** For a limit of one call. */
  readonly maxOneCall: string;
  readonly requiresPrior: string;
}

export const defaultToolRuleTemplates: ToolRuleTemplates = {
  heading: "# Tool Execution Rules",
  line: "- {rule}",
  startConstraint: "Call `{tool}` first before any other tools",
  exitLoop: "The conversation will end after calling `{tool}`",
  continueLoop: "The conversation will be continued after calling `{tool}`",
  maxCalls: "Call `{tool}` at most {count} times",
  maxOneCall: "Call `{tool}` at most 1 time",
  requiresPrior: "Call `{tool}` only after calling: {prior}",
};

/** The rules as a section of a prompt: start constraints first, then in the given order. Empty without rules. */
export function renderToolRules(
  rules: readonly ToolRule[],
  templates: ToolRuleTemplates = defaultToolRuleTemplates,
): string {
  const isStart = ({ rule }: ToolRule) => rule?.$case === "startConstraint";
  const ordered = [...rules.filter(isStart), ...rules.filter((rule) => !isStart(rule))];
  const lines = ordered.flatMap((rule) => ruleText(rule, templates) ?? []);
  if (lines.length === 0) return "";
  return [templates.heading, "", ...lines.map((rule) => fillTemplate(templates.line, { rule }))].join("\n");
}

function ruleText({ tool, rule }: ToolRule, templates: ToolRuleTemplates): string | undefined {
  if (!rule) return undefined;
  switch (rule.$case) {
    case "maxCalls":
      return fillTemplate(rule.value === 1 ? templates.maxOneCall : templates.maxCalls, {
        tool,
        count: rule.value,
      });
    case "requiresPrior":
      return fillTemplate(templates.requiresPrior, { tool, prior: rule.value });
    default:
      return rule.value ? fillTemplate(templates[rule.$case], { tool }) : undefined;
  }
}
