import { BodyProblems } from "../body-problems.js";
import { chatCallId } from "../openai/call-id.js";
import {
  checkBreakpoint,
  checkCallId,
  checkFields,
  checkFile,
  checkFunction,
  checkImageUrl,
  checkMaxTokens,
  checkSettings,
  checkText,
  checkToolName,
} from "../openai/checks.js";
import type { BodyProblem } from "../render-input.js";
import { isObject, type JsonObject } from "../schema-dialect.js";

export const chatMostTools = 128;
export const chatMostCalls = 128;

const fields: ReadonlySet<string> = new Set(
  `messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens
  metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
  prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop
  store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
  web_search_options`.split(/\s+/),
);

const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "input_audio", "file"],
  assistant: ["text", "refusal"],
  tool: ["text"],
};

/** The rules that OpenAI's Chat Completions enforce. */
export function validateOpenaiChat(body: unknown): BodyProblem[] {
  const problems = new BodyProblems();
  if (!isObject(body)) {
    problems.add("body_object", "", "must be a JSON object");
    return problems.found;
  }
  checkFields(body, fields, problems);
  const named = typeof body.model === "string" && body.model !== "";
  problems.check(named, "model_required", "model", "must name a model");
  checkSettings(body, body.reasoning_effort, "reasoning_effort", problems);
  checkMaxTokens(body.max_completion_tokens, "max_completion_tokens", 1, problems);
  checkMaxTokens(body.max_tokens, "max_tokens", 1, problems);
  const both = (body.max_tokens ?? null) !== null && (body.max_completion_tokens ?? null) !== null;
  problems.check(!both, "max_tokens_twice", "max_tokens", "cannot stand beside max_completion_tokens");
  if (body.tools !== undefined) checkTools(body.tools, problems);
  checkMessages(body.messages, problems);
  return problems.found;
}

/** What is wrong with one part of a message's content. */
export function chatPartProblems(part: unknown, role: string): BodyProblem[] {
  const problems = new BodyProblems();
  checkPart(part, role, "part", problems);
  return problems.found;
}

function checkTools(tools: unknown, problems: BodyProblems): void {
  if (!Array.isArray(tools) || tools.length === 0) {
    problems.add("tools_empty", "tools", "must be a list of at least one tool, or be left out");
    return;
  }
  const message = `must be at most ${chatMostTools}`;
  problems.check(tools.length <= chatMostTools, "tools_too_many", "tools", message);
  const names = new Set<string>();
  tools.forEach((tool: unknown, at) => {
    const path = `tools[${at}]`;
    if (isObject(tool) && tool.type === "custom" && isObject(tool.custom)) return;
    if (isObject(tool) && tool.type === "function" && isObject(tool.function)) {
      checkFunction(tool.function, `${path}.function`, names, problems);
    } else problems.add("tool_shape", path, 'must have the type "function", and a function');
  });
}

function checkMessages(messages: unknown, problems: BodyProblems): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    problems.add("messages_required", "messages", "must be a list of at least one message");
    return;
  }
  /** The calls of the assistant message before that have no answer yet. */
  let open = new Set<string>();
  let from = "";
  const endCalls = () => {
    for (const id of open) {
      problems.add(
        "tool_result_missing",
        from,
        `the call "${id}" is not answered by a tool message directly after`,
      );
    }
    open = new Set();
  };
  messages.forEach((message: unknown, at) => {
    const path = `messages[${at}]`;
    if (!isObject(message)) {
      problems.add("message_object", path, "must be an object");
      return;
    }
    if (message.role === "tool") {
      const id = message.tool_call_id;
      if (checkCallId(id, chatCallId, `${path}.tool_call_id`, problems) && !open.delete(id)) {
        problems.add(
          "tool_result_unexpected",
          path,
          `answers "${id}", which is no open call of the message before`,
        );
      }
    } else {
      endCalls();
      from = path;
      if (message.role === "assistant") open = checkCalls(message.tool_calls, `${path}.tool_calls`, problems);
    }
    checkContent(message, path, problems);
  });
  endCalls();
}

function checkCalls(calls: unknown, path: string, problems: BodyProblems): Set<string> {
  const ids = new Set<string>();
  if (calls === undefined) return ids;
  if (!Array.isArray(calls) || calls.length === 0) {
    problems.add("tool_calls_empty", path, "must be a list of at least one call, or be left out");
    return ids;
  }
  const most = `must be at most ${chatMostCalls}`;
  problems.check(calls.length <= chatMostCalls, "tool_calls_too_many", path, most);
  calls.forEach((call: unknown, at) => {
    const where = `${path}[${at}]`;
    if (!isObject(call) || (call.type !== "function" && call.type !== "custom")) {
      problems.add("tool_call_shape", where, 'must have the type "function", and a function');
      return;
    }
    if (checkCallId(call.id, chatCallId, `${where}.id`, problems)) {
      const isNew = !ids.has(call.id);
      problems.check(isNew, "call_id_duplicate", `${where}.id`, `"${call.id}" is the id of two calls`);
      ids.add(call.id);
    }
    if (call.type === "custom") return;
    const called = isObject(call.function) ? call.function : {};
    checkToolName(called.name, `${where}.function.name`, problems);
    const written = typeof called.arguments === "string";
    problems.check(written, "arguments_string", `${where}.function.arguments`, "must be JSON in a string");
  });
  return ids;
}

function checkContent(message: JsonObject, path: string, problems: BodyProblems): void {
  const { role, content } = message;
  if (typeof role !== "string" || !Object.hasOwn(partTypes, role)) {
    const roles = Object.keys(partTypes).join(", ");
    problems.add("role_unknown", `${path}.role`, `must be one of ${roles}`);
    return;
  }
  const at = `${path}.content`;
  if (content === undefined || content === null) {
    const said = message.tool_calls ?? message.function_call ?? message.refusal ?? message.audio;
    const optional = role === "assistant" && said !== undefined && said !== null;
    problems.check(optional, "content_required", at, "must be there, but in an assistant message with calls");
  } else if (typeof content === "string") checkText(content, at, problems);
  else if (!Array.isArray(content))
    problems.add("content_required", at, "must be a string or a list of parts");
  else if (content.length === 0) problems.add("content_empty", at, "must not be empty");
  else for (const [index, part] of content.entries()) checkPart(part, role, `${at}[${index}]`, problems);
}

function checkPart(part: unknown, role: string, path: string, problems: BodyProblems): void {
  const types = partTypes[role] ?? [];
  if (!isObject(part) || !types.includes(part.type as string)) {
    problems.add("content_type", path, `must be of a type that a ${role} message takes: ${types.join(", ")}`);
    return;
  }
  checkBreakpoint(part, role !== "assistant", path, problems);
  const { image_url: image, input_audio: audio } = part;
  switch (part.type) {
    case "text":
      checkText(part.text, `${path}.text`, problems);
      break;
    case "refusal":
      checkText(part.refusal, `${path}.refusal`, problems);
      break;
    case "image_url":
      checkImageUrl(isObject(image) ? image.url : undefined, `${path}.image_url.url`, problems);
      break;
    case "file":
      checkFile(part.file, `${path}.file`, { urls: false, onlyPdf: true }, problems);
      break;
    default: {
      const heard =
        isObject(audio) &&
        typeof audio.data === "string" &&
        audio.data !== "" &&
        ["wav", "mp3"].includes(audio.format as string);
      problems.check(heard, "audio", `${path}.input_audio`, "must have base64 data of the format wav or mp3");
    }
  }
}
