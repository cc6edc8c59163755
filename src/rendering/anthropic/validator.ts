import { BodyProblems, wordOf } from "../body-problems.js";
import type { BodyProblem } from "../render-input.js";
import { anthropicProperty, isObject, type JsonObject } from "../schema-dialect.js";
import { anthropicToolName } from "../tool-names.js";
import { checkBlock } from "./blocks.js";
import { type ClaudeRules, claudeRules } from "./models.js";
import { checkTurns } from "./turns.js";

const maxMarkers = 4;
const minBudgetTokens = 1_024;

/** What the Messages API would refuse in a body. */
export function validateAnthropic(body: unknown): BodyProblem[] {
  const problems = new BodyProblems();
  if (!isObject(body)) {
    problems.add("body_not_object", "", "the body must be an object");
    return problems.found;
  }
  const hasModel = typeof body.model === "string" && body.model !== "";
  problems.check(hasModel, "model_missing", "model", "the model must be named");
  const rules = claudeRules(hasModel ? String(body.model) : "");
  const maxTokens = body.max_tokens;
  const isCount = Number.isInteger(maxTokens) && Number(maxTokens) >= 0;
  problems.check(isCount, "max_tokens_invalid", "max_tokens", "max_tokens is needed: a whole number from 0");
  checkThinking(problems, body, rules);
  checkSampling(problems, body, rules);
  const names = checkTools(problems, body.tools);
  checkToolChoice(problems, body, names);
  checkSystem(problems, body.system);
  checkTurns(problems, body, rules);
  const needsTools = names.size === 0 && holdsCalls(body.messages);
  const noTools = "requests with tool_use or tool_result blocks must define tools";
  problems.check(!needsTools, "tools_missing", "tools", noTools);
  checkMarkers(problems, body);
  return problems.found;
}

function holdsCalls(messages: unknown): boolean {
  if (!Array.isArray(messages)) return false;
  return messages.some(
    (message: unknown) =>
      isObject(message) &&
      Array.isArray(message.content) &&
      message.content.some(
        (block: unknown) => isObject(block) && /^tool_(use|result)$/.test(wordOf(block.type)),
      ),
  );
}

function checkThinking(problems: BodyProblems, body: JsonObject, rules: ClaudeRules): void {
  const effort = isObject(body.output_config) ? body.output_config.effort : undefined;
  const isEffort = effort === undefined || effort === null || efforts.has(wordOf(effort));
  problems.check(isEffort, "effort_unknown", "output_config.effort", `effort is ${[...efforts].join(", ")}`);
  const { thinking } = body;
  if (thinking === undefined) return;
  const type = isObject(thinking) ? thinking.type : undefined;
  if (!isObject(thinking) || !thinkingTypes.has(wordOf(type))) {
    problems.add("thinking_type_unknown", "thinking.type", `thinking is ${[...thinkingTypes].join(", ")}`);
  } else if (type === "adaptive") {
    const message = "this model thinks with budget_tokens only";
    problems.check(rules.takesAdaptive, "thinking_adaptive_unsupported", "thinking.type", message);
  } else if (type === "enabled") {
    const message = "this model takes no budget_tokens; use adaptive";
    problems.check(rules.takesBudget, "thinking_enabled_unsupported", "thinking.type", message);
    checkBudget(problems, thinking.budget_tokens, body.max_tokens);
  }
}

export const efforts: ReadonlySet<string> = new Set(["low", "medium", "high", "xhigh", "max"]);
const thinkingTypes: ReadonlySet<string> = new Set(["enabled", "disabled", "adaptive", "between_tools"]);

function checkBudget(problems: BodyProblems, budget: unknown, maxTokens: unknown): void {
  const path = "thinking.budget_tokens";
  const isEnough = Number.isInteger(budget) && Number(budget) >= minBudgetTokens;
  problems.check(isEnough, "thinking_budget_too_small", path, `budget_tokens is at least ${minBudgetTokens}`);
  const isBelow = typeof maxTokens !== "number" || (typeof budget === "number" && budget < maxTokens);
  problems.check(isBelow, "thinking_budget_not_below_max_tokens", path, "budget_tokens is below max_tokens");
}

function checkSampling(problems: BodyProblems, body: JsonObject, rules: ClaudeRules): void {
  const { temperature, top_p: topP } = body;
  const isShare = (value: unknown) =>
    value === undefined || (typeof value === "number" && value >= 0 && value <= 1);
  problems.check(isShare(temperature), "temperature_range", "temperature", "temperature is from 0 to 1");
  problems.check(isShare(topP), "top_p_range", "top_p", "top_p is from 0 to 1");
  if (temperature === undefined || temperature === 1) return;
  const isThinking = isObject(body.thinking) && ["enabled", "adaptive"].includes(wordOf(body.thinking.type));
  const message = "temperature may only be 1 when the model thinks";
  problems.check(!isThinking, "temperature_with_thinking", "temperature", message);
  const unsupported = "temperature is deprecated for this model";
  problems.check(rules.takesTemperature, "temperature_unsupported", "temperature", unsupported);
}

function checkTools(problems: BodyProblems, tools: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  if (tools === undefined) return names;
  if (!Array.isArray(tools)) {
    problems.add("tools_not_list", "tools", "tools must be a list");
    return names;
  }
  tools.forEach((tool: unknown, at) => {
    const path = `tools[${at}]`;
    if (!isObject(tool)) {
      problems.add("tool_invalid", path, "a tool is an object");
      return;
    }
    const name = wordOf(tool.name ?? "");
    const isValid = anthropicToolName.pattern.test(name);
    problems.check(isValid, "tool_name_invalid", `${path}.name`, "names must match ^[a-zA-Z0-9_-]{1,128}$");
    problems.check(!names.has(name), "tool_name_duplicate", `${path}.name`, "tool names must be unique");
    names.add(name);
    if (tool.type === undefined || tool.type === "custom") checkSchema(problems, tool.input_schema, path);
  });
  return names;
}

function checkSchema(problems: BodyProblems, schema: unknown, tool: string): void {
  const path = `${tool}.input_schema`;
  if (!isObject(schema) || schema.type !== "object") {
    problems.add("tool_schema_not_object", path, "an input schema is an object with the type object");
    return;
  }
  const isCombined = ["oneOf", "allOf", "anyOf"].some((combiner) => combiner in schema);
  const message = "input_schema does not support oneOf, allOf, or anyOf at the top level";
  problems.check(!isCombined, "tool_schema_combined", path, message);
  const { properties = {}, required = [] } = schema;
  if (!problems.check(isObject(properties), "tool_schema_invalid", path, "properties must be an object"))
    return;
  const isNamed = Object.keys(properties as JsonObject).every((name) => anthropicProperty.test(name));
  const pattern = "property keys must match ^[a-zA-Z0-9_.-]{1,64}$";
  problems.check(isNamed, "tool_schema_property_name", `${path}.properties`, pattern);
  const isList = Array.isArray(required) && required.every((name) => typeof name === "string");
  problems.check(isList, "tool_schema_invalid", `${path}.required`, "required must be a list of names");
}

function checkToolChoice(problems: BodyProblems, body: JsonObject, names: ReadonlySet<string>): void {
  const { tool_choice: choice } = body;
  if (choice === undefined) return;
  const path = "tool_choice";
  const type = isObject(choice) ? choice.type : undefined;
  if (!isObject(choice) || !["auto", "any", "tool", "none"].includes(wordOf(type))) {
    problems.add("tool_choice_invalid", path, "a choice is auto, any, tool or none");
    return;
  }
  const hasTools = names.size > 0;
  problems.check(hasTools, "tool_choice_without_tools", path, "a choice is only possible with tools");
  const isForced = type === "any" || type === "tool";
  const isThinking = isObject(body.thinking) && body.thinking.type === "enabled";
  const message = "thinking may not be enabled when tool_choice forces tool use";
  problems.check(!(isForced && isThinking), "tool_choice_with_thinking", path, message);
  const isKnown = type !== "tool" || names.has(wordOf(choice.name));
  problems.check(
    isKnown,
    "tool_choice_unknown_tool",
    `${path}.name`,
    "the chosen tool is not among the tools",
  );
}

function checkSystem(problems: BodyProblems, system: unknown): void {
  if (system === undefined || typeof system === "string") return;
  if (!Array.isArray(system)) {
    problems.add("system_invalid", "system", "system is a text or a list of text blocks");
    return;
  }
  system.forEach((block, at) => {
    checkBlock(problems, block, `system[${at}]`, "system");
  });
}

/** Markers count together, in the order in which the cache reads: tools, system, messages. */
function checkMarkers(problems: BodyProblems, body: JsonObject): void {
  const marked: { readonly path: string; readonly ttl: unknown }[] = [];
  const visit = (block: unknown, path: string) => {
    if (!isObject(block)) return;
    if (Array.isArray(block.content)) {
      block.content.forEach((inner, at) => {
        visit(inner, `${path}.content[${at}]`);
      });
    }
    const marker = block.cache_control;
    if (marker === undefined || marker === null) return;
    const isKind = isObject(marker) && marker.type === "ephemeral";
    const ttl = isObject(marker) ? (marker.ttl ?? "5m") : undefined;
    const isValid = isKind && (ttl === "5m" || ttl === "1h");
    const message = "cache_control is ephemeral, with a ttl of 5m or 1h";
    problems.check(isValid, "cache_control_invalid", `${path}.cache_control`, message);
    const isThinking = block.type === "thinking" || block.type === "redacted_thinking";
    const onThinking = "thinking blocks cannot carry cache_control";
    problems.check(!isThinking, "cache_control_on_thinking", `${path}.cache_control`, onThinking);
    marked.push({ path, ttl });
  };
  const visitAll = (blocks: unknown, path: string) => {
    if (Array.isArray(blocks)) for (const [at, block] of blocks.entries()) visit(block, `${path}[${at}]`);
  };
  visitAll(body.tools, "tools");
  visitAll(body.system, "system");
  visitAll(body.messages, "messages");
  if (marked.length > maxMarkers) {
    const message = `at most ${maxMarkers} blocks carry cache_control; ${marked.length} do`;
    problems.add("cache_control_count", marked[maxMarkers]!.path, message);
  }
  const firstShort = marked.findIndex(({ ttl }) => ttl === "5m");
  const late = firstShort < 0 ? undefined : marked.find(({ ttl }, at) => at > firstShort && ttl === "1h");
  if (late) problems.add("cache_control_ttl_order", late.path, "a ttl of 1h must not come after one of 5m");
}
