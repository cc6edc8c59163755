import { maxBodyDepth, scanJson } from "../domain/json-scan.js";
import { JsonProblem, JsonSlice } from "../domain/json-slice.js";
import { AnswerParts, type ReadResponse } from "./answer-parts.js";
import { readAnthropic } from "./anthropic/response.js";
import { readGemini } from "./gemini/response.js";
import { readOpenaiChat } from "./openai-chat/response.js";
import { readOpenaiResponses } from "./openai-responses/response.js";
import { chatOrigin, type Family, responsesOrigin } from "./part-words.js";
import type { BodyFormat } from "./render-input.js";
import { isEventStream } from "./streams/events.js";
import { wholeResponse } from "./streams/whole-response.js";

const readers: Readonly<
  Record<
    BodyFormat,
    {
      readonly provider: Family;
      /** Whose fields parts carry, where the formats of one provider do not share them. */
      readonly origin: string;
      readonly read: (body: JsonSlice, answer: AnswerParts, candidate: number) => ReadResponse;
      readonly hasCandidates: boolean;
    }
  >
> = {
  anthropic: { provider: "anthropic", origin: "anthropic", read: readAnthropic, hasCandidates: false },
  "openai-responses": {
    provider: "openai",
    origin: responsesOrigin,
    read: readOpenaiResponses,
    hasCandidates: false,
  },
  "openai-chat": { provider: "openai", origin: chatOrigin, read: readOpenaiChat, hasCandidates: true },
  gemini: { provider: "google", origin: "google", read: readGemini, hasCandidates: true },
};

export function providerOf(format: BodyFormat): Family {
  return readers[format].provider;
}

/** A response, and how it is to be read. */
export interface ResponseBytes {
  readonly format: BodyFormat;
  readonly bytes: Uint8Array;
  readonly candidate: number;
}

/** What a provider answered, or what is wrong with it and where. It may run in a worker thread, so nothing is thrown. */
export function readResponse({
  format,
  bytes,
  candidate,
}: ResponseBytes): ReadResponse | { readonly path: string; readonly problem: string } {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return { path: "", problem: "must be valid UTF-8" };
  }
  const { provider, origin, read, hasCandidates } = readers[format];
  if (candidate > 0 && !hasCandidates)
    return { path: "", problem: "has one answer only: candidate must be 0" };
  try {
    if (isEventStream(text)) text = wholeResponse(format, text);
    return readJson(text, (body) => read(body, new AnswerParts(provider, origin), candidate));
  } catch (error) {
    if (error instanceof JsonProblem) return { path: error.path, problem: error.description };
    throw error;
  }
}

function readJson(text: string, read: (body: JsonSlice) => ReadResponse): ReturnType<typeof readResponse> {
  const kind = scanJson(text, maxBodyDepth);
  if (kind === "too deep") return { path: "", problem: `is nested more than ${maxBodyDepth} levels deep` };
  if (kind === "no JSON") return { path: "", problem: "must be valid JSON" };
  return read(JsonSlice.of(text));
}
