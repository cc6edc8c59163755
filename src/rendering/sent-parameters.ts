import type { BodyFormat, RenderedBody } from "./render-input.js";

/** How a body calls its model. */
export interface SentParameters {
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  /** undefined where the body asks for none. */
  readonly thinking: { readonly budgetTokens: number; readonly effort: string } | undefined;
}

/** Reads from a body what it says of temperature, answer and thinking. */
export function sentParameters(format: BodyFormat, body: RenderedBody): SentParameters {
  switch (format) {
    case "anthropic":
      return sent(body, "max_tokens", anthropicThinking(body));
    case "openai-responses":
      return sent(body, "max_output_tokens", effort(field(body, "reasoning").effort));
    case "openai-chat":
      return sent(body, "max_completion_tokens", effort(body.reasoning_effort));
    case "gemini": {
      const config = field(body, "generationConfig");
      return sent(config, "maxOutputTokens", geminiThinking(config));
    }
  }
}

type Fields = { readonly [key: string]: unknown };

function field(body: Fields, name: string): Fields {
  return (body[name] ?? {}) as Fields;
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function sent(fields: Fields, maxTokens: string, thinking: SentParameters["thinking"]): SentParameters {
  const numberIn = (name: string) =>
    typeof fields[name] === "number" ? (fields[name] as number) : undefined;
  return { temperature: numberIn("temperature"), maxTokens: numberIn(maxTokens), thinking };
}

function effort(word: unknown): SentParameters["thinking"] {
  return typeof word === "string" ? { budgetTokens: 0, effort: word } : undefined;
}

function anthropicThinking(body: Fields): SentParameters["thinking"] {
  if (body.thinking === undefined) return undefined;
  const word = field(body, "output_config").effort;
  const budgetTokens = numberOr(field(body, "thinking").budget_tokens, 0);
  return { budgetTokens, effort: typeof word === "string" ? word : "" };
}

function geminiThinking(config: Fields): SentParameters["thinking"] {
  if (config.thinkingConfig === undefined) return undefined;
  const { thinkingLevel, thinkingBudget } = field(config, "thinkingConfig");
  // -1 leaves it to the model.
  const budgetTokens = Math.max(0, numberOr(thinkingBudget, 0));
  return { budgetTokens, effort: typeof thinkingLevel === "string" ? thinkingLevel : "" };
}
