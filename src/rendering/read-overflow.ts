/** What a provider's refusal says of a context that was too long. */
export interface OverflowNumbers {
  /** How much the model takes. */
  readonly limitTokens?: number;
  /** How much the context was, by the model's own count. */
  readonly contextTokens?: number;
}

/** A whole number as people write it. */
const n = "(\\d[\\d,_]{0,14})";

/** The refusals that are known, by the order of their numbers. The first that fits is taken. */
const refusals: readonly (readonly [pattern: RegExp, ...numbers: ("limit" | "context")[]])[] = [
  // Anthropic: prompt is too long: 208310 tokens > 200000 maximum
  [new RegExp(`prompt is too long: ${n} tokens > ${n} maximum`, "i"), "context", "limit"],
  // Anthropic: input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000
  [new RegExp(`exceed context limit: ${n} \\+ \\d+ > ${n}`, "i"), "context", "limit"],
  // OpenAI and servers like it: maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in your prompt; 1000 for the completion)
  [
    new RegExp(
      `maximum context length is ${n} tokens[.,] however,? you requested ${n} tokens \\(${n} in`,
      "i",
    ),
    "limit",
    "context",
    "context",
  ],
  // OpenAI: maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens
  [
    new RegExp(`maximum context length is ${n} tokens[.,] however,? [a-z ]{1,40} ${n} tokens`, "i"),
    "limit",
    "context",
  ],
  [new RegExp(`maximum context length (?:is|of) ${n}`, "i"), "limit"],
  // OpenAI: Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.
  [
    new RegExp(`configured limit of ${n} tokens\\.? your messages resulted in ${n} tokens`, "i"),
    "limit",
    "context",
  ],
  // Gemini: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
  [
    new RegExp(`token count \\(${n}\\) exceeds the maximum number of tokens allowed \\(?${n}`, "i"),
    "context",
    "limit",
  ],
  [new RegExp(`exceeds the maximum number of tokens allowed \\(?${n}`, "i"), "limit"],
  // Gemini on Vertex: the input token count is 1048577 but model only supports up to 1048576
  [new RegExp(`token count is ${n} but (?:the )?model only supports up to ${n}`, "i"), "context", "limit"],
  // llama.cpp: the request (9000 tokens) exceeds the available context size (4096 tokens)
  [
    new RegExp(`request \\(${n} tokens\\) exceeds the available context size \\(${n} tokens\\)`, "i"),
    "context",
    "limit",
  ],
];

/** Reads a refusal, whole or the JSON that it came in. What nobody knows says nothing. */
export function readOverflow(text: string): OverflowNumbers {
  for (const [pattern, ...names] of refusals) {
    const found = pattern.exec(text);
    if (!found) continue;
    const numbers: { limit?: number; context?: number } = {};
    names.forEach((name, index) => {
      const value = Number(found[index + 1]!.replaceAll(/[,_]/g, ""));
      if (value > 0 && value <= 100_000_000) numbers[name] = value;
    });
    return {
      ...(numbers.limit === undefined ? {} : { limitTokens: numbers.limit }),
      ...(numbers.context === undefined ? {} : { contextTokens: numbers.context }),
    };
  }
  return {};
}
