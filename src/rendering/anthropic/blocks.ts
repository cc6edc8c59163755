import { type BodyProblems, isBase64, wordOf } from "../body-problems.js";
import { hasText } from "../messages.js";
import { isObject, type JsonObject } from "../schema-dialect.js";
import { anthropicCallId } from "../tool-names.js";

/** Where a block stands. */
export type BlockPlace = "user" | "assistant" | "system" | "tool_result";

export const anthropicImageTypes: ReadonlySet<string> = new Set([
  "image/jpeg",
  "image/png",
  "image/gif",
  "image/webp",
]);

/** Calls of tools that the provider runs itself. */
const serverCalls = ["server_tool_use", "mcp_tool_use"];
const media = ["text", "image", "document", "search_result"];
const placesOf: Readonly<Record<BlockPlace, ReadonlySet<string>>> = {
  system: new Set(["text"]),
  tool_result: new Set([...media, "tool_reference", "browser_state"]),
  user: new Set([...media, "tool_result", "container_upload"]),
  assistant: new Set([
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    ...serverCalls,
    "container_upload",
    "compaction",
  ]),
};

/** Results of tools that the provider runs itself; they stand in the assistant's message. */
export function isServerResult(type: unknown): boolean {
  return typeof type === "string" && type.endsWith("_tool_result");
}

export function isServerCall(type: unknown): boolean {
  return typeof type === "string" && serverCalls.includes(type);
}

export function isThinking(type: unknown): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

/** The rules for one block, without those about its neighbours. */
export function checkBlock(problems: BodyProblems, block: unknown, path: string, place: BlockPlace): void {
  if (!isObject(block) || typeof block.type !== "string") {
    problems.add("block_invalid", path, "a block is an object with a type");
    return;
  }
  const { type } = block;
  if (!placesOf[place].has(type) && !(place === "assistant" && isServerResult(type))) {
    const isKnown = Object.values(placesOf).some((types) => types.has(type)) || isServerResult(type);
    if (isKnown) problems.add("block_not_allowed", path, `a ${type} block cannot be in ${place} content`);
    else problems.add("block_type_unknown", path, `there is no block of type ${type}`);
    return;
  }
  checkers[type]?.(problems, block, path);
}

const checkers: Readonly<Record<string, (problems: BodyProblems, block: JsonObject, path: string) => void>> =
  {
    text(problems, { text }, path) {
      const isText = typeof text === "string" && hasText(text);
      problems.check(
        isText,
        "empty_text",
        path,
        "text blocks must contain text that is not only white space",
      );
    },
    image: checkImage,
    document: checkDocument,
    thinking(problems, { thinking, signature }, path) {
      problems.check(typeof thinking === "string", "thinking_text_missing", path, "thinking must be a text");
      const isSigned = typeof signature === "string" && signature !== "";
      problems.check(isSigned, "thinking_signature_missing", path, "a thinking block needs its signature");
    },
    redacted_thinking(problems, { data }, path) {
      const hasData = typeof data === "string" && data !== "";
      problems.check(
        hasData,
        "redacted_thinking_data_missing",
        path,
        "a redacted_thinking block needs its data",
      );
    },
    tool_use(problems, { id, name, input }, path) {
      checkId(problems, id, `${path}.id`);
      const isName = typeof name === "string" && /^[a-zA-Z0-9_-]{1,200}$/.test(name);
      problems.check(
        isName,
        "tool_use_name_invalid",
        `${path}.name`,
        "a call's name must match ^[a-zA-Z0-9_-]{1,200}$",
      );
      problems.check(
        isObject(input),
        "tool_use_input_not_object",
        `${path}.input`,
        "the input must be an object",
      );
    },
    tool_result(problems, { tool_use_id, content, is_error }, path) {
      checkId(problems, tool_use_id, `${path}.tool_use_id`);
      if (Array.isArray(content)) {
        content.forEach((block, at) => {
          checkBlock(problems, block, `${path}.content[${at}]`, "tool_result");
        });
      } else if (content !== undefined && typeof content !== "string") {
        problems.add(
          "tool_result_content_invalid",
          `${path}.content`,
          "the content is a text or a list of blocks",
        );
      }
      const isEmpty =
        content === undefined || content === "" || (Array.isArray(content) && content.length === 0);
      const message = "content cannot be empty if is_error is true";
      problems.check(!(is_error === true && isEmpty), "tool_result_empty_error", path, message);
    },
    server_tool_use(problems, { id, input }, path) {
      checkId(problems, id, `${path}.id`);
      problems.check(
        isObject(input),
        "tool_use_input_not_object",
        `${path}.input`,
        "the input must be an object",
      );
    },
  };

function checkId(problems: BodyProblems, id: unknown, path: string): void {
  const isValid = typeof id === "string" && anthropicCallId.pattern.test(id);
  problems.check(isValid, "tool_use_id_invalid", path, "ids must match ^[a-zA-Z0-9_-]+$");
}

function checkImage(problems: BodyProblems, { source }: JsonObject, path: string): void {
  if (!isObject(source)) {
    problems.add("image_source_invalid", path, "an image needs a source");
    return;
  }
  if (source.type === "base64") {
    const isKnown = anthropicImageTypes.has(wordOf(source.media_type));
    const types = [...anthropicImageTypes].join(", ");
    problems.check(isKnown, "image_media_type", `${path}.source.media_type`, `images are ${types}`);
    problems.check(isBase64(source.data), "base64_invalid", `${path}.source.data`, "the data must be base64");
  } else if (source.type === "url") checkUrl(problems, source.url, `${path}.source.url`);
  else if (source.type !== "file" || typeof source.file_id !== "string") {
    problems.add("image_source_invalid", `${path}.source`, "an image's source is base64, url or file");
  }
}

function checkDocument(problems: BodyProblems, { source, title }: JsonObject, path: string): void {
  const isTitle =
    title === undefined || title === null || (typeof title === "string" && /^.{1,500}$/s.test(title));
  problems.check(isTitle, "document_title_invalid", `${path}.title`, "a title has 1 to 500 characters");
  if (!isObject(source)) {
    problems.add("document_source_invalid", path, "a document needs a source");
    return;
  }
  const { type, media_type, data } = source;
  if (type === "base64") {
    const isPdf = media_type === "application/pdf";
    const mediaPath = `${path}.source.media_type`;
    problems.check(isPdf, "document_media_type", mediaPath, "a base64 document is application/pdf");
    problems.check(isBase64(data), "base64_invalid", `${path}.source.data`, "the data must be base64");
  } else if (type === "text") {
    const isPlain = media_type === "text/plain";
    const mediaPath = `${path}.source.media_type`;
    problems.check(isPlain, "document_media_type", mediaPath, "a text document is text/plain");
    const isText = typeof data === "string" && hasText(data);
    problems.check(isText, "empty_text", `${path}.source.data`, "a text document must contain text");
  } else if (type === "url") checkUrl(problems, source.url, `${path}.source.url`);
  else if (type !== "content" && type !== "file") {
    const message = "a document's source is base64, text, content, url or file";
    problems.add("document_source_invalid", `${path}.source`, message);
  }
}

function checkUrl(problems: BodyProblems, url: unknown, path: string): void {
  problems.check(isHttps(url), "url_not_https", path, "only https addresses can be fetched");
}

export function isHttps(url: unknown): boolean {
  return typeof url === "string" && url.startsWith("https://") && URL.canParse(url);
}
