import { maxBodyDepth, scanJson } from "../../domain/json-scan.js";
import { JsonProblem, JsonSlice } from "../../domain/json-slice.js";

/** What a stream came to: the JSON of each event, and whether the provider said that there is no more. */
export interface StreamEvents {
  readonly data: readonly JsonSlice[];
  readonly isDone: boolean;
}

/** Whether a text is a stream of server-sent events: no JSON begins so. */
export function isEventStream(text: string): boolean {
  return /^\s*(?:data|event|id|retry)?:/.test(text);
}

/** The data of server-sent events, in order. Names of events, ids and comments are passed over: the data say what they are. */
export function readEvents(text: string): StreamEvents {
  const data: JsonSlice[] = [];
  let isDone = false;
  let lines: string[] = [];
  const flush = () => {
    if (lines.length === 0) return;
    const json = lines.join("\n");
    lines = [];
    if (json.trim() === "[DONE]") {
      isDone = true;
      return;
    }
    const kind = scanJson(json, maxBodyDepth);
    const at = `events[${data.length}]`;
    if (kind === "too deep") throw new JsonProblem(at, `is nested more than ${maxBodyDepth} levels deep`);
    if (kind !== "object") throw new JsonProblem(at, "must be a JSON object");
    data.push(JsonSlice.of(json));
  };
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line === "") flush();
    else if (line.startsWith("data:")) lines.push(line.slice(line[5] === " " ? 6 : 5));
  }
  flush();
  return { data, isDone };
}

/** A stream that broke off is no answer: what is missing could be a call, or the word "not". */
export function unfinished(): JsonProblem {
  return new JsonProblem("", "is a stream that ends before the answer does");
}
