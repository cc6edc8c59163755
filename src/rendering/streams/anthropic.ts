import { scanJson } from "../../domain/json-scan.js";
import { JsonProblem, type JsonSlice } from "../../domain/json-slice.js";
import { maxParts } from "../answer-parts.js";
import { type StreamEvents, unfinished } from "./events.js";

/** A content block as it grows. */
interface Block {
  /** As it began; it is the whole block where nothing follows. */
  readonly start: JsonSlice;
  readonly texts: Map<string, string[]>;
  readonly citations: string[];
}

/** The fields that pieces are added to, by the type of the piece and the piece's own field. */
const grows: Readonly<Record<string, readonly [field: string, piece: string]>> = {
  text_delta: ["text", "text"],
  thinking_delta: ["thinking", "thinking"],
  signature_delta: ["signature", "signature"],
  input_json_delta: ["input", "partial_json"],
};

/** The message that the events of the Messages API come to, as JSON. */
export function wholeAnthropic({ data }: StreamEvents): string {
  const blocks: Block[] = [];
  const message = new Map<string, string>();
  const usage = new Map<string, string>();
  let isDone = false;
  for (const event of data) {
    const type = event.textAt("type");
    if (type === "error") throw event.required("error").wrong("is an error, not an answer");
    if (type === "message_start") takeFields(event.required("message"), message, usage);
    else if (type === "content_block_start") {
      if (blocks.length === maxParts) throw event.wrong(`has more than ${maxParts} blocks`);
      blocks.push({ start: event.required("content_block"), texts: new Map(), citations: [] });
    } else if (type === "content_block_delta") {
      const block = blocks[event.countAt("index")];
      if (!block) throw event.required("index").wrong("is no block that has begun");
      grow(block, event.required("delta"));
    } else if (type === "message_delta") {
      takeFields(event.required("delta"), message, usage);
      takeFields(event, new Map(), usage);
    } else if (type === "message_stop") isDone = true;
  }
  if (!isDone || message.size === 0) throw unfinished();
  const isCut = message.get("stop_reason") === '"max_tokens"';
  message.set("content", `[${blocks.map((block, at) => wholeBlock(block, at, isCut)).join(",")}]`);
  if (usage.size > 0) message.set("usage", objectOf(usage));
  return objectOf(message);
}

/** Later ones replace earlier ones: usage is counted from the beginning in every event. */
function takeFields(from: JsonSlice, fields: Map<string, string>, usage: Map<string, string>): void {
  for (const [name, value] of from.fields()) {
    if (name !== "usage") fields.set(name, value.raw);
    else for (const [part, count] of value.fields()) usage.set(part, count.raw);
  }
}

function grow({ texts, citations }: Block, delta: JsonSlice): void {
  const type = delta.textAt("type");
  if (type === "citations_delta") {
    citations.push(delta.required("citation").raw);
    return;
  }
  if (!Object.hasOwn(grows, type)) throw delta.required("type").wrong(`is not known: ${type}`);
  const [field, piece] = grows[type]!;
  const pieces = texts.get(field) ?? [];
  // Pieces may end between the halves of a surrogate pair; the whole is checked.
  pieces.push(String(delta.required(piece).value()));
  texts.set(field, pieces);
}

function wholeBlock({ start, texts, citations }: Block, at: number, isCut: boolean): string {
  if (texts.size === 0 && citations.length === 0) return start.raw;
  const fields = new Map([...start.fields()].map(([name, value]) => [name, value.raw]));
  for (const [name, pieces] of texts) {
    const grown = pieces.join("");
    if (name === "input") fields.set(name, inputOf(grown, at, isCut));
    else fields.set(name, JSON.stringify((start.field(name)?.string() ?? "") + grown));
  }
  if (citations.length > 0) fields.set("citations", `[${citations.join(",")}]`);
  return objectOf(fields);
}

/** The arguments of a call as the model wrote them. Those of one that was cut off are not complete, and it is not carried out. */
function inputOf(json: string, at: number, isCut: boolean): string {
  if (json.trim() === "") return "{}";
  if (scanJson(json, Number.POSITIVE_INFINITY) === "object") return json;
  if (isCut) return "{}";
  throw new JsonProblem(`content[${at}].input`, "must be an object");
}

function objectOf(fields: ReadonlyMap<string, string>): string {
  return `{${[...fields].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}
