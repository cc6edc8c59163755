import type { Endpoint } from "./endpoint.js";
import { noKey } from "./endpoint.js";
import { once } from "./once.js";
import { wholeAnswerFetch } from "./whole-answer.js";

/** OpenAI's client for an endpoint, and its error classes; loaded when it is first asked for. */
export function openaiClient(endpoint: Endpoint, largestAnswerBytes?: number) {
  return once(async () => {
    const { default: sdk } = await import("openai");
    const client = new sdk({
      apiKey: endpoint.apiKey.trim() || noKey,
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      baseURL: endpoint.baseUrl || null,
      timeout: endpoint.timeoutMs,
      maxRetries: endpoint.retries,
      fetch: wholeAnswerFetch(endpoint.timeoutMs, largestAnswerBytes),
      logLevel: "off",
    });
    return { sdk, client };
  });
}
