import type { JsonSlice } from "../../domain/json-slice.js";
import type { TokenUsage } from "../../domain/turn.js";
import { type AnswerParts, maxParts, otherFields, type ReadResponse } from "../answer-parts.js";

const textFields: ReadonlySet<string> = new Set(["type", "text"]);
const thinkingFields: ReadonlySet<string> = new Set(["type", "thinking", "signature"]);
const callFields: ReadonlySet<string> = new Set(["type", "id", "name", "input"]);
/** Why an answer ends before the model was done. */
const tooLong: ReadonlySet<string> = new Set(["max_tokens", "model_context_window_exceeded"]);

/** A message of the Messages API. */
export function readAnthropic(body: JsonSlice, answer: AnswerParts): ReadResponse {
  if (body.textAt("type") === "error") throw body.required("error").wrong("is an error, not an answer");
  const stopReason = body.textAt("stop_reason");
  const blocks = body.required("content").items(maxParts);
  blocks.forEach((block, at) => {
    const isCutOff = tooLong.has(stopReason) && at === blocks.length - 1;
    readBlock(block, answer, isCutOff);
  });
  const details = body.field("stop_details");
  const why = details?.textAt("explanation") ?? "";
  if (stopReason === "refusal") answer.refusal(why, details?.textAt("category") || stopReason);
  const usage = usageOf(body.field("usage"));
  return answer.read({ stopReason, usage, model: body.textAt("model"), others: 0 }, why);
}

function readBlock(block: JsonSlice, answer: AnswerParts, isCutOff: boolean): void {
  const type = block.required("type").string();
  switch (type) {
    case "text":
      answer.text(block.required("text"), otherFields(block, textFields));
      break;
    case "thinking": {
      const text = block.textAt("thinking");
      answer.thinking(block, text, block.textAt("signature"), otherFields(block, thinkingFields));
      break;
    }
    case "tool_use": {
      const input = block.required("input");
      if (!input.isObject) throw input.wrong("must be an object");
      const [id, name] = [block.required("id").string(), block.required("name").string()];
      const more = otherFields(block, callFields);
      answer.call(block, { id, name, argumentsJson: input.raw }, { isCutOff, more });
      break;
    }
    default:
      answer.ranTools ||= type.endsWith("_tool_use") || type.endsWith("_tool_result");
      answer.opaque(block, type);
  }
}

/** Anthropic counts what was read from its cache, and what was written to it, apart from the input. */
function usageOf(usage: JsonSlice | undefined): TokenUsage | undefined {
  if (!usage) return undefined;
  const cachedInputTokens = usage.countAt("cache_read_input_tokens");
  const cacheWriteTokens = usage.countAt("cache_creation_input_tokens");
  return {
    inputTokens: usage.countAt("input_tokens") + cachedInputTokens + cacheWriteTokens,
    outputTokens: usage.countAt("output_tokens"),
    cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens: usage.field("output_tokens_details")?.countAt("thinking_tokens") ?? 0,
  };
}
