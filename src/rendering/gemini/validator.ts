import { BodyProblems, wordOf } from "../body-problems.js";
import type { BodyProblem } from "../render-input.js";
import { isObject, type JsonObject } from "../schema-dialect.js";
import { checkContents } from "./contents.js";
import { checkPart, fieldOf, isFunctionName, nameMessage } from "./parts.js";

const fields: ReadonlySet<string> = new Set([
  "model",
  "contents",
  "systemInstruction",
  "system_instruction",
  "tools",
  "toolConfig",
  "tool_config",
  "safetySettings",
  "safety_settings",
  "generationConfig",
  "generation_config",
  "cachedContent",
  "cached_content",
  "labels",
  "serviceTier",
  "service_tier",
  "store",
]);

/** What generateContent would refuse in a body. The model is not in it, so rules of single models are not here. */
export function validateGemini(body: unknown): BodyProblem[] {
  const problems = new BodyProblems();
  if (!isObject(body)) {
    problems.add("body_not_object", "", "the body must be an object");
    return problems.found;
  }
  for (const key of Object.keys(body)) {
    problems.check(fields.has(key), "unknown_field", key, `a request has no field ${key}`);
  }
  const level = checkGeneration(problems, fieldOf(body, "generationConfig"));
  checkSystem(problems, fieldOf(body, "systemInstruction"));
  const names = checkTools(problems, body.tools);
  checkToolConfig(problems, fieldOf(body, "toolConfig"), names);
  // Only models that demand signatures take a thinking level.
  checkContents(problems, body.contents, level !== undefined);
  return problems.found;
}

/** The thinking level, if one is given. */
function checkGeneration(problems: BodyProblems, config: unknown): unknown {
  if (config === undefined) return undefined;
  const path = "generationConfig";
  if (!isObject(config)) {
    problems.add("generation_config_invalid", path, "generationConfig is an object");
    return undefined;
  }
  const { temperature } = config;
  const isWarm =
    temperature === undefined || (typeof temperature === "number" && temperature >= 0 && temperature <= 2);
  problems.check(isWarm, "temperature_range", `${path}.temperature`, "temperature is from 0 to 2");
  const max = fieldOf(config, "maxOutputTokens");
  const isCount = max === undefined || (Number.isInteger(max) && Number(max) >= 1);
  const message = "maxOutputTokens is a whole number from 1";
  problems.check(isCount, "max_output_tokens_invalid", `${path}.maxOutputTokens`, message);
  const thinking = fieldOf(config, "thinkingConfig");
  return isObject(thinking) ? checkThinking(problems, thinking, `${path}.thinkingConfig`) : undefined;
}

function checkThinking(problems: BodyProblems, config: JsonObject, path: string): unknown {
  const level = fieldOf(config, "thinkingLevel");
  const budget = fieldOf(config, "thinkingBudget");
  const isOne = level === undefined || budget === undefined;
  const message = "thinkingLevel and thinkingBudget cannot be used together";
  problems.check(isOne, "thinking_level_and_budget", path, message);
  const isLevel = level === undefined || /^(minimal|low|medium|high)$/i.test(wordOf(level));
  const levels = "a thinking level is MINIMAL, LOW, MEDIUM or HIGH";
  problems.check(isLevel, "thinking_level_unknown", `${path}.thinkingLevel`, levels);
  const isBudget = budget === undefined || (Number.isInteger(budget) && Number(budget) >= -1);
  const range = "a thinking budget is a whole number from -1";
  problems.check(isBudget, "thinking_budget_invalid", `${path}.thinkingBudget`, range);
  return level;
}

function checkSystem(problems: BodyProblems, system: unknown): void {
  if (system === undefined) return;
  const parts = isObject(system) ? system.parts : undefined;
  if (!Array.isArray(parts) || parts.length === 0) {
    problems.add("system_instruction_invalid", "systemInstruction", "a system instruction has parts of text");
    return;
  }
  parts.forEach((part: unknown, at) => {
    const path = `systemInstruction.parts[${at}]`;
    const isText = isObject(part) && "text" in part;
    problems.check(isText, "system_instruction_invalid", path, "a system instruction has parts of text");
    if (isText) checkPart(problems, part, path, "user");
  });
}

function checkTools(problems: BodyProblems, tools: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  if (tools === undefined) return names;
  if (!Array.isArray(tools)) {
    problems.add("tools_not_list", "tools", "tools must be a list");
    return names;
  }
  tools.forEach((tool: unknown, at) => {
    const path = `tools[${at}].functionDeclarations`;
    const declarations = isObject(tool) ? fieldOf(tool, "functionDeclarations") : undefined;
    if (declarations === undefined && isObject(tool)) return;
    if (!Array.isArray(declarations) || declarations.length === 0) {
      problems.add("tool_invalid", path, "a tool needs at least one function declaration");
      return;
    }
    declarations.forEach((declaration: unknown, index) => {
      checkDeclaration(problems, declaration, `${path}[${index}]`, names);
    });
  });
  return names;
}

function checkDeclaration(problems: BodyProblems, tool: unknown, path: string, names: Set<string>): void {
  if (!isObject(tool)) {
    problems.add("tool_invalid", path, "a function declaration is an object");
    return;
  }
  const name = wordOf(tool.name ?? "");
  problems.check(isFunctionName(name), "tool_name_invalid", `${path}.name`, nameMessage);
  problems.check(
    !names.has(name),
    "tool_name_duplicate",
    `${path}.name`,
    `duplicate function declaration ${name}`,
  );
  names.add(name);
  const { parameters } = tool;
  const json = fieldOf(tool, "parametersJsonSchema");
  const isOne = parameters === undefined || json === undefined;
  const message = "parameters and parametersJsonSchema exclude each other";
  problems.check(isOne, "tool_schema_twice", path, message);
  const schema = json ?? parameters;
  const isForObjects = schema === undefined || (isObject(schema) && /^object$/i.test(wordOf(schema.type)));
  problems.check(
    isForObjects,
    "tool_schema_not_object",
    path,
    "a function's parameters have the type object",
  );
}

function checkToolConfig(problems: BodyProblems, config: unknown, names: ReadonlySet<string>): void {
  const calling = isObject(config) ? fieldOf(config, "functionCallingConfig") : undefined;
  if (!isObject(calling)) return;
  const path = "toolConfig.functionCallingConfig";
  const mode = calling.mode === undefined ? "AUTO" : wordOf(calling.mode);
  const isMode = ["AUTO", "ANY", "NONE", "VALIDATED"].includes(mode);
  problems.check(isMode, "tool_mode_unknown", `${path}.mode`, "the mode is AUTO, ANY, NONE or VALIDATED");
  const allowed = fieldOf(calling, "allowedFunctionNames");
  if (!Array.isArray(allowed)) return;
  const mayAllow = mode === "ANY" || mode === "VALIDATED";
  problems.check(
    mayAllow,
    "allowed_names_mode",
    path,
    "allowedFunctionNames is for the modes ANY and VALIDATED",
  );
  const isKnown = allowed.every((name) => names.has(wordOf(name)));
  const message = "allowedFunctionNames must be among the function declarations";
  problems.check(isKnown, "allowed_name_unknown", `${path}.allowedFunctionNames`, message);
}
