import { defaultPromptTexts } from "../../domain/prompt-texts.js";
import { hasText, pairedCalls } from "../messages.js";
import type { RenderedBody, RenderInput } from "../render-input.js";
import { inputSchema, type JsonObject } from "../schema-dialect.js";
import { callIds, geminiCallId, geminiToolName, ToolNames } from "../tool-names.js";
import { ContentsWriter } from "./conversation.js";

const levels: ReadonlyMap<string, string> = new Map([
  ["none", "MINIMAL"],
  ["minimal", "MINIMAL"],
  ["low", "LOW"],
  ["medium", "MEDIUM"],
  ["high", "HIGH"],
  ["xhigh", "HIGH"],
  ["max", "HIGH"],
]);
const leastBudgetTokens = 128;

/** A body for generateContent; the model is in the address that it is sent to. */
export function renderGemini(input: RenderInput): RenderedBody {
  // From the third version on, calls are signed and results can hold pictures.
  const isSigning = !/gemini-[12]\b/.test(input.model);
  const names = new ToolNames(input.tools, geminiToolName);
  const { texts = defaultPromptTexts } = input;
  const writer = new ContentsWriter(names, isSigning, texts);
  for (const step of pairedCalls(input.messages, callIds(geminiCallId), texts, "google")) writer.add(step);

  const body: Record<string, unknown> = {};
  if (hasText(input.system)) body.systemInstruction = { parts: [{ text: input.system }] };
  if (names.declared.length > 0) {
    const functionDeclarations = names.declared.map((tool) => {
      const declared: Record<string, unknown> = { name: names.of(tool.name) };
      if (hasText(tool.description)) declared.description = tool.description;
      declared.parametersJsonSchema = inputSchema(tool);
      return declared;
    });
    body.tools = [{ functionDeclarations }];
  }
  body.contents = writer.finish();
  const config = generationConfig(input, isSigning);
  if (Object.keys(config).length > 0) body.generationConfig = config;
  return body;
}

function generationConfig(input: RenderInput, isSigning: boolean): JsonObject {
  const config: Record<string, unknown> = {};
  const maxOutputTokens = Math.floor(input.maxTokens);
  if (maxOutputTokens >= 1) config.maxOutputTokens = maxOutputTokens;
  if (input.temperature !== undefined && !Number.isNaN(input.temperature)) {
    config.temperature = Math.min(Math.max(input.temperature, 0), 2);
  }
  if (!input.thinking?.enabled) return config;
  const { budgetTokens, effort } = input.thinking;
  const level = isSigning ? levels.get(effort.toLowerCase()) : undefined;
  if (level !== undefined) config.thinkingConfig = { thinkingLevel: level };
  else if (budgetTokens > 0) {
    const mostTokens = input.model.includes("flash") ? 24_576 : 32_768;
    const thinkingBudget = Math.min(Math.max(Math.floor(budgetTokens), leastBudgetTokens), mostTokens);
    config.thinkingConfig = { thinkingBudget };
  } else if (!isSigning) config.thinkingConfig = { thinkingBudget: -1 };
  return config;
}
