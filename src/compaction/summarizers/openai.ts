import type OpenAI from "openai";
import { callFailure, EndpointFailure } from "../../endpoints/call-failure.js";
import { openaiClient } from "../../endpoints/openai-client.js";
import { type EndpointOptions, endpointSummarizer } from "./endpoint.js";
import type { CallModel } from "./recursive.js";
import type { Summarizer } from "./summarizer.js";

type LimitField = "max_completion_tokens" | "max_tokens";

/** Of models that are not OpenAI's own. */
const ownTokenRatio = 1.25;

/** Summaries from an endpoint that speaks OpenAI's chat completions. */
export function openaiSummarizer(options: EndpointOptions): Summarizer {
  const open = openaiClient(options);
  // OpenAI's newer models refuse the old field; other servers ignore or refuse the new one.
  let limitField: LimitField = /^$|\.(openai|azure)\.com\b/.test(options.baseUrl)
    ? "max_completion_tokens"
    : "max_tokens";

  const call: CallModel = async ({ system, user }, outputTokens, signal) => {
    const { sdk, client } = await open();
    const ask = (field: LimitField) =>
      client.chat.completions.create(
        {
          model: options.model,
          messages: [
            { role: "system", content: system },
            { role: "user", content: user },
          ],
          [field]: outputTokens,
        },
        { signal },
      );
    try {
      const completion = await ask(limitField).catch((error: unknown) => {
        if (!(error instanceof sdk.APIError) || !refuses(error, limitField)) throw error;
        limitField = limitField === "max_tokens" ? "max_completion_tokens" : "max_tokens";
        return ask(limitField);
      });
      return {
        text: textOf(completion),
        inputTokens: completion.usage?.prompt_tokens,
        outputTokens: completion.usage?.completion_tokens,
      };
    } catch (error) {
      throw callFailure(error, sdk, options.timeoutMs);
    }
  };
  return endpointSummarizer("openai", { ...options, tokenRatio: options.tokenRatio ?? ownTokenRatio }, call);
}

/** Servers that call themselves compatible leave out what the types promise. */
function textOf(completion: Partial<OpenAI.ChatCompletion>): string {
  const choice = completion?.choices?.[0];
  if (choice?.message === undefined) throw new EndpointFailure("answered in a form that is not known");
  if (choice.finish_reason === "content_filter" || choice.message.refusal)
    throw new EndpointFailure("refused to answer (content filter)");
  if (choice.finish_reason === "length")
    throw new EndpointFailure("was cut off at the length limit of its answer");
  const { content } = choice.message;
  if (typeof content !== "string" || content.trim() === "")
    throw new EndpointFailure("answered with nothing");
  return content;
}

function refuses(
  { status, param, error: body }: InstanceType<typeof OpenAI.APIError>,
  field: LimitField,
): boolean {
  if (status !== 400 && status !== 422) return false;
  return param ? param === field : JSON.stringify(body ?? "").includes(field);
}
