import type { JsonSlice } from "../../domain/json-slice.js";
import { type AnswerParts, maxParts, objectOf, otherFields, type ReadResponse } from "../answer-parts.js";
import { openaiUsage } from "../openai/usage.js";
import { parseObject } from "../part-words.js";

const callFields: ReadonlySet<string> = new Set(["id", "type", "index", "function"]);

/** A completion of Chat Completions. */
export function readOpenaiChat(body: JsonSlice, answer: AnswerParts, candidate: number): ReadResponse {
  const refused = body.field("error");
  if (refused) throw refused.wrong("is an error, not an answer");
  const choices = body.required("choices").items(maxParts);
  const choice = choices[candidate];
  if (!choice) throw body.required("choices").wrong(`has no entry ${candidate}`);
  const message = choice.required("message");
  const stopReason = choice.textAt("finish_reason");
  readThinking(message, answer);
  readContent(message, answer);
  const isTooLong = stopReason === "length";
  for (const call of message.itemsAt(maxParts, "tool_calls")) readCall(call, answer, isTooLong);
  const old = message.field("function_call");
  if (old) readFunction(old, "", answer, isTooLong);
  const audio = message.field("audio");
  if (audio) answer.opaque(audio, "audio");
  const refusal = message.textAt("refusal");
  if (refusal !== "") answer.refusal(refusal, "refusal");
  else if (stopReason === "content_filter") answer.refusal("", stopReason);
  const usage = openaiUsage(body.field("usage"));
  const others = choices.length - 1;
  return answer.read({ stopReason, usage, model: body.textAt("model"), others });
}

/** Servers other than OpenAI's show what a model thought; they do not take it back under one name. */
function readThinking(message: JsonSlice, answer: AnswerParts): void {
  const thought = message.field("reasoning_content", "reasoning");
  if (!thought?.isText) return;
  const text = thought.string();
  if (text !== "") answer.thinking(thought, text, "");
}

function readContent(message: JsonSlice, answer: AnswerParts): void {
  const content = message.field("content");
  if (!content) return;
  const annotations = message.field("annotations");
  const isAnnotated = annotations?.isArray && annotations.items(maxParts).length > 0;
  const more = isAnnotated ? objectOf(message, [["annotations", annotations]]) : undefined;
  if (content.isText) {
    if (content.raw !== '""') answer.text(content, more);
    return;
  }
  for (const part of content.items(maxParts)) {
    if (part.textAt("type") === "text") answer.text(part.required("text"), more);
    else answer.opaque(part, part.textAt("type"));
  }
}

function readCall(call: JsonSlice, answer: AnswerParts, isTooLong: boolean): void {
  const called = call.field("function");
  if (!called) throw call.wrong("is no function call: calls of other kinds cannot be recorded");
  readFunction(called, call.textAt("id"), answer, isTooLong, otherFields(call, callFields));
}

function readFunction(
  called: JsonSlice,
  id: string,
  answer: AnswerParts,
  isTooLong: boolean,
  more?: string,
): void {
  const argumentsJson = called.textAt("arguments");
  const isCutOff = isTooLong && parseObject(argumentsJson) === undefined;
  answer.call(called, { id, name: called.required("name").string(), argumentsJson }, { isCutOff, more });
}
