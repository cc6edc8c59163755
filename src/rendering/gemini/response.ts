import type { JsonSlice } from "../../domain/json-slice.js";
import type { TokenUsage } from "../../domain/turn.js";
import { type AnswerParts, maxParts, objectOf, otherFields, type ReadResponse } from "../answer-parts.js";

/** How many pieces a stream may have come in. */
const maxChunks = 65_536;

/** Names that the API gives in the first spelling, and some SDKs in the second. */
const signatureNames = ["thoughtSignature", "thought_signature"] as const;
const callNames = ["functionCall", "function_call"] as const;
const inlineNames = ["inlineData", "inline_data"] as const;
const textFields: ReadonlySet<string> = new Set(["text", "thought"]);
const thoughtFields: ReadonlySet<string> = new Set([...textFields, ...signatureNames]);
const callFields: ReadonlySet<string> = new Set([...callNames, ...signatureNames]);
const inlineFields: ReadonlySet<string> = new Set(inlineNames);
/** What a candidate says of its text besides. */
const aboutText = [
  ["citationMetadata", "citation_metadata"],
  ["groundingMetadata", "grounding_metadata"],
  ["urlContextMetadata", "url_context_metadata"],
] as const;

/** A response of generateContent, or the chunks of its stream. */
export function readGemini(body: JsonSlice, answer: AnswerParts, candidate: number): ReadResponse {
  const chunks = body.isArray ? body.items(maxChunks) : [body];
  if (chunks.length === 0) throw body.wrong("holds no chunk");
  let others = 0;
  let stopReason = "";
  let why = "";
  let model = "";
  let usage: JsonSlice | undefined;
  const parts: JsonSlice[] = [];
  const about = new Map<string, JsonSlice>();
  for (const chunk of chunks) {
    const error = chunk.field("error");
    if (error) throw error.wrong("is an error, not an answer");
    const candidates = chunk.itemsAt(maxParts, "candidates");
    others = Math.max(others, candidates.length - 1);
    const chosen = candidates.find(
      (one, at) => (one.field("index") ? one.countAt("index") : at) === candidate,
    );
    if (candidates.length > 0 && !chosen && chunks.length === 1)
      throw chunk.required("candidates").wrong(`has no entry ${candidate}`);
    parts.push(...(chosen?.field("content")?.itemsAt(maxChunks, "parts") ?? []));
    stopReason = chosen?.textAt("finishReason", "finish_reason") || stopReason;
    why = chosen?.textAt("finishMessage", "finish_message") || why;
    model = chunk.textAt("modelVersion", "model_version") || model;
    usage = chunk.field("usageMetadata", "usage_metadata") ?? usage;
    const feedback = chunk.field("promptFeedback", "prompt_feedback");
    stopReason ||= feedback?.textAt("blockReason", "block_reason") ?? "";
    why ||= feedback?.textAt("blockReasonMessage", "block_reason_message") ?? "";
    for (const names of aboutText) {
      const found = chosen?.field(...names);
      if (found) about.set(names[0], found);
    }
  }
  if (parts.length === 0 && stopReason === "")
    throw body.wrong("has no candidate with content, nor a reason why");
  readParts(parts, answer, [...about], chunks.length > 1);
  return answer.read({ stopReason, usage: usageOf(usage), model, others }, why);
}

function readParts(
  parts: readonly JsonSlice[],
  answer: AnswerParts,
  about: readonly (readonly [string, JsonSlice])[],
  isStream: boolean,
): void {
  const lastText = parts.findLastIndex(isPlainText);
  parts.forEach((part, at) => {
    const more = at === lastText && about.length > 0 ? about : [];
    const isJoined = isStream && joins(parts[at - 1], part);
    readPart(part, answer, more, isJoined);
  });
}

function readPart(
  part: JsonSlice,
  answer: AnswerParts,
  about: readonly (readonly [string, JsonSlice])[],
  isJoined: boolean,
): void {
  const called = part.field(...callNames);
  const inline = part.field(...inlineNames);
  const text = part.field("text");
  const signature = part.textAt(...signatureNames);
  if (called) readCall(part, called, signature, answer);
  else if (inline) {
    const type = inline.required("mimeType", "mime_type").string();
    answer.media(inline, inline.required("data"), type, otherFields(part, inlineFields) ?? "{}");
  } else if (!text) {
    const kind = [...part.fields().keys()].find((name) => !signatureNames.includes(name as never));
    if (kind === undefined) throw part.wrong("is empty");
    answer.ranTools = true;
    answer.opaque(part, kind);
  } else if (isThought(part) || text.raw === '""') {
    if (text.raw === '""' && signature === "") return;
    if (isJoined) answer.longerThinking(text);
    else answer.thinking(text, text.string(), signature, otherFields(part, thoughtFields));
  } else if (isJoined) answer.longerText(text);
  else {
    const own = [...part.fields()].filter(([name]) => !textFields.has(name));
    const candidate = objectOf(part, about);
    answer.text(text, objectOf(part, candidate ? [...own, ["candidate", candidate]] : own));
  }
}

function readCall(part: JsonSlice, called: JsonSlice, signature: string, answer: AnswerParts): void {
  const args = called.field("args");
  if (args && !args.isObject) throw args.wrong("must be an object");
  if (called.field("willContinue", "will_continue")?.raw === "true")
    throw called.wrong("is not whole: its arguments come in pieces, which the SDK puts together");
  const id = called.textAt("id");
  // Without an id of its own it goes back without one.
  const own = [...part.fields()].filter(([name]) => !callFields.has(name));
  const fields = id === "" ? ([["id", "null"], ...own] as const) : own;
  const call = { id, name: called.required("name").string(), argumentsJson: args?.raw ?? "", signature };
  answer.call(called, call, { more: objectOf(part, fields) });
}

function isThought(part: JsonSlice): boolean {
  return part.field("thought")?.raw === "true";
}

function isPlainText(part: JsonSlice): boolean {
  return part.field("text") !== undefined && !isThought(part) && part.field("text")!.raw !== '""';
}

/** Whether a chunk goes on where the one before ended. A signature is for its own part only. */
function joins(before: JsonSlice | undefined, part: JsonSlice): boolean {
  if (!before?.field("text") || !part.field("text") || isThought(before) !== isThought(part)) return false;
  if (part.field("text")!.raw === '""') return false;
  return [before, part].every((one) => [...one.fields().keys()].every((name) => textFields.has(name)));
}

/** Gemini counts thoughts apart from the answer, and what its own tools read apart from the prompt. */
function usageOf(usage: JsonSlice | undefined): TokenUsage | undefined {
  if (!usage) return undefined;
  const count = (name: string) =>
    usage.countAt(
      name,
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    );
  const reasoningTokens = count("thoughtsTokenCount");
  return {
    inputTokens: count("promptTokenCount") + count("toolUsePromptTokenCount"),
    outputTokens: count("candidatesTokenCount") + reasoningTokens,
    cachedInputTokens: count("cachedContentTokenCount"),
    cacheWriteTokens: 0,
    reasoningTokens,
  };
}
