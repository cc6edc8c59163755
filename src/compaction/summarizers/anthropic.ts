import type Anthropic from "@anthropic-ai/sdk";
import { callFailure, EndpointFailure } from "../../endpoints/call-failure.js";
import { noKey } from "../../endpoints/endpoint.js";
import { once } from "../../endpoints/once.js";
import { wholeAnswerFetch } from "../../endpoints/whole-answer.js";
import { type EndpointOptions, endpointSummarizer } from "./endpoint.js";
import type { CallModel } from "./recursive.js";
import type { Summarizer } from "./summarizer.js";

/** Of the models whose tokens are the smallest, and a margin. */
const ownTokenRatio = 1.9;

/** Summaries from an endpoint that speaks Anthropic's messages. */
export function anthropicSummarizer(options: EndpointOptions): Summarizer {
  const apiKey = options.apiKey.trim() || noKey;
  const open = once(async () => {
    const { default: sdk } = await import("@anthropic-ai/sdk");
    const client = new sdk({
      apiKey,
      // The SDK sends a bearer token; some servers that speak the protocol only know the header it had before.
      defaultHeaders: options.baseUrl ? { "x-api-key": apiKey } : {},
      webhookKey: null,
      baseURL: options.baseUrl || null,
      timeout: options.timeoutMs,
      maxRetries: options.retries,
      fetch: wholeAnswerFetch(options.timeoutMs),
      logLevel: "off",
      openTelemetry: false,
    });
    return { sdk, client };
  });

  const call: CallModel = async ({ system, user }, outputTokens, signal) => {
    const { sdk, client } = await open();
    try {
      const message = await client.messages.create(
        {
          model: options.model,
          system,
          messages: [{ role: "user", content: user }],
          max_tokens: outputTokens,
        },
        { signal },
      );
      return {
        text: textOf(message),
        inputTokens: inputTokensOf(message.usage),
        outputTokens: message.usage?.output_tokens,
      };
    } catch (error) {
      throw callFailure(error, sdk, options.timeoutMs);
    }
  };
  return endpointSummarizer(
    "anthropic",
    { ...options, tokenRatio: options.tokenRatio ?? ownTokenRatio },
    call,
  );
}

/** Servers that call themselves compatible leave out what the types promise. */
function textOf(message: Partial<Anthropic.Message>): string {
  if (!Array.isArray(message?.content)) throw new EndpointFailure("answered in a form that is not known");
  if (message.stop_reason === "refusal") throw new EndpointFailure("refused to answer (content filter)");
  if (message.stop_reason === "max_tokens")
    throw new EndpointFailure("was cut off at the length limit of its answer");
  if (message.stop_reason === "model_context_window_exceeded")
    throw new EndpointFailure("has too small a window for what it was sent");
  const text = message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
  if (text.trim() === "") throw new EndpointFailure("answered with nothing");
  return text;
}

function inputTokensOf(usage: Anthropic.Usage | undefined): number | undefined {
  if (usage === undefined) return undefined;
  return usage.input_tokens + (usage.cache_creation_input_tokens ?? 0) + (usage.cache_read_input_tokens ?? 0);
}
