import type { BodyFormat } from "../render-input.js";
import { wholeAnthropic } from "./anthropic.js";
import { readEvents, type StreamEvents, unfinished } from "./events.js";
import { wholeChat } from "./openai-chat.js";

const wholes: Readonly<Record<BodyFormat, (events: StreamEvents) => string>> = {
  anthropic: wholeAnthropic,
  "openai-responses": wholeResponses,
  "openai-chat": wholeChat,
  gemini: wholeGemini,
};

/** The response that a stream of server-sent events comes to, as JSON. Throws a JsonProblem for one that breaks off. */
export function wholeResponse(format: BodyFormat, text: string): string {
  return wholes[format](readEvents(text));
}

/** The last event of Responses holds the whole response. */
function wholeResponses({ data }: StreamEvents): string {
  for (const event of data) {
    const type = event.textAt("type");
    if (type === "error") throw event.wrong("is an error, not an answer");
    if (/^response\.(completed|incomplete|failed)$/.test(type)) return event.required("response").raw;
  }
  throw unfinished();
}

/** Gemini's chunks are read as they are; the last of them says why it is the last. */
function wholeGemini({ data }: StreamEvents): string {
  const isFinished = data.some(
    (chunk) =>
      chunk.field("error") !== undefined ||
      chunk.field("promptFeedback", "prompt_feedback") !== undefined ||
      chunk.itemsAt(1_024, "candidates").some((one) => one.textAt("finishReason", "finish_reason") !== ""),
  );
  if (!isFinished) throw unfinished();
  return `[${data.map((chunk) => chunk.raw).join(",")}]`;
}
