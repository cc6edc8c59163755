import type { JsonSlice } from "../../domain/json-slice.js";
import { type AnswerParts, maxParts, objectOf, otherFields, type ReadResponse } from "../answer-parts.js";
import { openaiUsage } from "../openai/usage.js";
import { parseObject } from "../part-words.js";
import { isCall } from "./validator.js";

const messageFields: ReadonlySet<string> = new Set(["type", "role", "content"]);
const textFields: ReadonlySet<string> = new Set(["type", "text"]);
const callFields: ReadonlySet<string> = new Set(["type", "call_id", "name", "arguments"]);
const unfinished: ReadonlySet<string> = new Set(["queued", "in_progress"]);

/** A response of Responses. */
export function readOpenaiResponses(body: JsonSlice, answer: AnswerParts): ReadResponse {
  const status = body.textAt("status");
  if (unfinished.has(status))
    throw body.required("status").wrong(`is ${status}: the response is not finished`);
  const error = body.field("error");
  if (error && !body.field("output")) throw error.wrong("is an error, not an answer");
  for (const item of body.required("output").items(maxParts)) readItem(item, answer);
  const incomplete = body.field("incomplete_details")?.textAt("reason") ?? "";
  const stopReason = incomplete || (error?.textAt("code") ?? "") || status;
  const why = error?.textAt("message") ?? "";
  if (status === "failed" || incomplete === "content_filter") answer.refusal(why, stopReason);
  const usage = openaiUsage(body.field("usage"));
  return answer.read({ stopReason, usage, model: body.textAt("model"), others: 0 }, why);
}

function readItem(item: JsonSlice, answer: AnswerParts): void {
  const type = item.required("type").string();
  if (type === "message") readMessage(item, answer);
  else if (type === "function_call") {
    const [id, name] = [item.required("call_id").string(), item.required("name").string()];
    const argumentsJson = item.textAt("arguments");
    const isCutOff = item.textAt("status") === "incomplete" && parseObject(argumentsJson) === undefined;
    answer.call(item, { id, name, argumentsJson }, { isCutOff, more: otherFields(item, callFields) });
  } else if (isCall(type)) {
    throw item.wrong(`is a ${type}, which somebody has to answer: only function calls can be recorded`);
  } else {
    answer.ranTools ||= type !== "reasoning" && type !== "compaction";
    answer.opaque(item, type);
  }
}

/** A message's own fields stand with the first of its parts, under `message`. */
function readMessage(item: JsonSlice, answer: AnswerParts): void {
  let head = otherFields(item, messageFields) ?? "{}";
  for (const part of item.required("content").items(maxParts)) {
    const type = part.required("type").string();
    if (type === "output_text") {
      const own = [...part.fields()].filter(([name]) => !textFields.has(name));
      const fields = head === "" ? own : [["message", head] as const, ...own];
      answer.text(part.required("text"), objectOf(item, fields));
      head = "";
    } else if (type === "refusal") {
      const more = head === "" ? undefined : objectOf(item, [["message", head]]);
      answer.refusal(part.textAt("refusal"), type, more);
      head = "";
    } else answer.opaque(part, type);
  }
}
