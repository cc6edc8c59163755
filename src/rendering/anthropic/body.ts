import { defaultPromptTexts } from "../../domain/prompt-texts.js";
import { hasText, pairedCalls } from "../messages.js";
import type { CacheBreakpoint, RenderedBody, RenderInput } from "../render-input.js";
import { anthropicInputSchema } from "../schema-dialect.js";
import { anthropicCallId, anthropicToolName, callIds, ToolNames } from "../tool-names.js";
import { isThinking } from "./blocks.js";
import { type Block, ConversationWriter, type WrittenMessage } from "./conversation.js";
import { claudeRules } from "./models.js";
import { efforts } from "./validator.js";

const maxMarkers = 4;
const minBudgetTokens = 1_024;
const defaultMaxTokens = 4_096;
/** For models that want a number where the context says only a word. */
const budgetOfEffort: ReadonlyMap<string, number> = new Map([
  ["low", 2_048],
  ["medium", 8_192],
  ["high", 16_384],
  ["xhigh", 24_576],
  ["max", 32_768],
]);

/** A body for the Messages API. */
export function renderAnthropic(input: RenderInput): RenderedBody {
  const names = new ToolNames(input.tools, anthropicToolName);
  const { texts = defaultPromptTexts } = input;
  const writer = new ConversationWriter(names, texts);
  for (const step of pairedCalls(input.messages, callIds(anthropicCallId), texts, "anthropic"))
    writer.add(step);
  const messages = writer.finish();
  const tools: Block[] = names.declared.map((tool) => {
    const declared: Record<string, unknown> = { name: names.of(tool.name) };
    if (hasText(tool.description)) declared.description = tool.description;
    declared.input_schema = anthropicInputSchema(tool);
    return declared;
  });
  // Calls in the conversation are refused without tools, even where none may be used any more.
  const gone = tools.length === 0 ? calledTools(messages) : [];
  for (const name of gone) {
    tools.push({
      name,
      description: texts["body-tool-gone"],
      input_schema: { type: "object", properties: {} },
    });
  }
  const system: Block | undefined = hasText(input.system) ? { type: "text", text: input.system } : undefined;
  placeMarkers(input.breakpoints, tools.at(-1), system, writer);

  const maxTokens = Math.max(Math.floor(input.maxTokens || input.outputTokens || defaultMaxTokens), 1);
  const body: Record<string, unknown> = { model: input.model, max_tokens: maxTokens };
  const thinking = thinkingOf(input, maxTokens, messages);
  const takesTemperature = thinking === undefined && claudeRules(input.model).takesTemperature;
  if (takesTemperature && input.temperature !== undefined && !Number.isNaN(input.temperature)) {
    body.temperature = Math.min(Math.max(input.temperature, 0), 1);
  }
  if (thinking !== undefined) Object.assign(body, thinking);
  if (tools.length > 0) body.tools = tools;
  if (gone.length > 0) body.tool_choice = { type: "none" };
  if (system !== undefined) body.system = system.cache_control === undefined ? system.text : [system];
  body.messages = messages;
  return body;
}

/** The names of the tools that a conversation calls, in order. */
function calledTools(messages: readonly WrittenMessage[]): readonly string[] {
  const names = new Set<string>();
  for (const { content } of messages) {
    for (const { type, name } of content) if (type === "tool_use") names.add(name as string);
  }
  return [...names];
}

/** The fields that make the model think; undefined where it is not to, or could not. */
function thinkingOf(
  { model, thinking }: RenderInput,
  maxTokens: number,
  messages: readonly WrittenMessage[],
): Block | undefined {
  if (!thinking?.enabled) return undefined;
  const rules = claudeRules(model);
  if (rules.takesAdaptive && (thinking.budgetTokens <= 0 || !rules.takesBudget)) {
    const isKnown = efforts.has(thinking.effort);
    const adaptive = { thinking: { type: "adaptive" } };
    return isKnown ? { ...adaptive, output_config: { effort: thinking.effort } } : adaptive;
  }
  const wanted = thinking.budgetTokens || (budgetOfEffort.get(thinking.effort) ?? 8_192);
  // An answer must fit behind the thinking, and the caller's limit stands.
  const fitting = wanted < maxTokens ? wanted : Math.floor(maxTokens * 0.8);
  const budget = Math.max(Math.floor(fitting), minBudgetTokens);
  if (budget >= maxTokens || !mayThink(messages)) return undefined;
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** A turn that another provider's model began cannot go on thinking after its tools' results: the API refuses that. */
function mayThink(messages: readonly WrittenMessage[]): boolean {
  const isLoop = messages.at(-1)?.content.some(({ type }) => type === "tool_result");
  return !isLoop || isThinking(messages.at(-2)?.content[0]?.type);
}

/** Puts markers where the breakpoints are: at most four, and none for longer than the one before it. */
function placeMarkers(
  breakpoints: readonly CacheBreakpoint[],
  lastTool: Block | undefined,
  system: Block | undefined,
  writer: ConversationWriter,
): void {
  const ttls = new Map<Block, number>();
  const mark = (block: Block | undefined, ttlSeconds: number) => {
    if (block !== undefined) ttls.set(block, Math.max(ttlSeconds, ttls.get(block) ?? 0));
  };
  for (const point of breakpoints) if (point.after === "tools") mark(lastTool, point.ttlSeconds);
  for (const point of breakpoints) if (point.after === "system") mark(system, point.ttlSeconds);
  const prefix = ttls.size;
  const inMessages = breakpoints.filter((point) => point.after === "message");
  inMessages.sort((a, b) => a.messageIndex - b.messageIndex);
  for (const point of inMessages) mark(writer.markableAfter(point.messageIndex), point.ttlSeconds);

  const marked = [...ttls];
  // What is nearest to the end serves the next call best.
  if (marked.length > maxMarkers) marked.splice(prefix, marked.length - maxMarkers);
  let mayBeLong = true;
  for (const [block, ttlSeconds] of marked) {
    mayBeLong &&= ttlSeconds >= 3_600;
    block.cache_control = mayBeLong ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" };
  }
}
