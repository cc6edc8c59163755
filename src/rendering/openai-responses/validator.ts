import { BodyProblems } from "../body-problems.js";
import { responsesCallId } from "../openai/call-id.js";
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

export const leastOutputTokens = 16;

const fields: ReadonlySet<string> = new Set(
  `background context_management conversation include input instructions max_output_tokens metadata model moderation
  parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning
  safety_identifier service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p
  truncation user`.split(/\s+/),
);

const includable: ReadonlySet<unknown> = new Set([
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
]);

/** Calls that somebody else answers, with an item of the same name and `_output`. */
const calls: ReadonlySet<string> = new Set(
  "function_call custom_tool_call computer_call local_shell_call shell_call apply_patch_call".split(" "),
);
/** What a model makes, complete in itself. */
const standing: ReadonlySet<string> = new Set(
  `web_search_call file_search_call code_interpreter_call image_generation_call mcp_list_tools mcp_call
  compaction`.split(/\s+/),
);
/** The same, of kinds that can also come from elsewhere. */
const madeToo: ReadonlySet<string> = new Set(
  "mcp_approval_request tool_search_call tool_search_output additional_tools program program_output".split(
    " ",
  ),
);
const otherItems: ReadonlySet<string> = new Set(
  `item_reference mcp_approval_request mcp_approval_response tool_search_call tool_search_output additional_tools
  compaction_trigger program program_output`.split(/\s+/),
);
const inputTypes = ["input_text", "input_image", "input_file"];

/** The rules that OpenAI's Responses enforce. */
export function validateOpenaiResponses(body: unknown): BodyProblem[] {
  const problems = new BodyProblems();
  if (!isObject(body)) {
    problems.add("body_object", "", "must be a JSON object");
    return problems.found;
  }
  checkFields(body, fields, problems);
  const named = (typeof body.model === "string" && body.model !== "") || isObject(body.prompt);
  problems.check(named, "model_required", "model", "must name a model");
  const { reasoning, instructions, include } = body;
  const isSetting = reasoning === undefined || reasoning === null || isObject(reasoning);
  problems.check(isSetting, "reasoning_object", "reasoning", 'must be an object, as in {"effort": "low"}');
  checkSettings(body, isObject(reasoning) ? reasoning.effort : undefined, "reasoning.effort", problems);
  checkMaxTokens(body.max_output_tokens, "max_output_tokens", leastOutputTokens, problems);
  const instructed = instructions === undefined || instructions === null || typeof instructions === "string";
  problems.check(instructed, "instructions_string", "instructions", "must be a string");
  if (include !== undefined && include !== null) {
    const known = Array.isArray(include) && include.every((name) => includable.has(name));
    problems.check(known, "include_unknown", "include", `can hold only ${[...includable].join(", ")}`);
  }
  if (body.tools !== undefined) checkTools(body.tools, problems);
  checkInput(body, problems);
  return problems.found;
}

/** What is wrong with an item of the input for a request that stores nothing. */
export function itemProblems(item: JsonObject): BodyProblem[] {
  const problems = new BodyProblems();
  checkItem(item, "item", true, problems);
  return problems.found;
}

/** What is wrong with one part of a message's content. */
export function inputPartProblems(part: unknown, role: string): BodyProblem[] {
  const problems = new BodyProblems();
  checkPart(part, role, "part", problems);
  return problems.found;
}

/** Whether an item is something that a model made and that needs no answer. */
export function standsAlone({ type }: JsonObject): boolean {
  return standing.has(type as string) || madeToo.has(type as string);
}

/** Whether an item of this type waits for an answer of the client. */
export function isCall(type: string): boolean {
  return calls.has(type);
}

function checkTools(tools: unknown, problems: BodyProblems): void {
  if (!Array.isArray(tools)) {
    problems.add("tool_shape", "tools", "must be a list of tools");
    return;
  }
  const names = new Set<string>();
  tools.forEach((tool: unknown, at) => {
    const path = `tools[${at}]`;
    if (!isObject(tool) || typeof tool.type !== "string")
      problems.add("tool_shape", path, "must have a type");
    else if (tool.type === "function" && "function" in tool) {
      problems.add(
        "tool_shape",
        path,
        "must have its name and parameters beside its type, not in a function",
      );
    } else if (tool.type === "function") checkFunction(tool, path, names, problems);
  });
}

function checkInput(body: JsonObject, problems: BodyProblems): void {
  const { input } = body;
  /** With these, some of the conversation is at OpenAI. */
  const continues = [body.previous_response_id, body.conversation].some((value) => (value ?? null) !== null);
  if (input === undefined && (continues || isObject(body.prompt))) return;
  if (typeof input === "string") {
    checkText(input, "input", problems);
    return;
  }
  if (!Array.isArray(input) || input.length === 0) {
    problems.add("input_required", "input", "must be a text, or a list of at least one item");
    return;
  }
  const items = input.map((item: unknown, at) => {
    if (isObject(item)) checkItem(item, `input[${at}]`, body.store === false, problems);
    else problems.add("item_object", `input[${at}]`, "must be an object");
    return isObject(item) ? item : {};
  });
  checkUnique(items, problems);
  checkFollowers(items, problems);
  if (!continues) checkPairs(items, problems);
}

function checkItem(item: JsonObject, path: string, isUnstored: boolean, problems: BodyProblems): void {
  const type = item.type ?? ("role" in item ? "message" : undefined);
  if (type === "message") checkMessage(item, path, problems);
  else if (type === "reasoning") checkReasoning(item, path, isUnstored, problems);
  else if (typeof type === "string" && (calls.has(type) || answeredBy(type) !== undefined)) {
    checkCallId(item.call_id, responsesCallId, `${path}.call_id`, problems);
    if (type === "function_call") {
      checkToolName(item.name, `${path}.name`, problems);
      const written = typeof item.arguments === "string";
      problems.check(written, "arguments_string", `${path}.arguments`, "must be JSON in a string");
    }
    if (type === "function_call_output") checkContent(item.output, "user", `${path}.output`, problems);
  } else if (type === "item_reference") {
    problems.check(!isUnstored, "item_not_stored", path, "refers to an item, but nothing is stored");
  } else if (typeof type !== "string" || !(standing.has(type) || otherItems.has(type))) {
    problems.add("item_type", `${path}.type`, "is not a type of item that OpenAI knows");
  }
}

function checkReasoning(item: JsonObject, path: string, isUnstored: boolean, problems: BodyProblems): void {
  const { id, summary, encrypted_content: content } = item;
  const named = id === undefined || (typeof id === "string" && id !== "");
  problems.check(named, "reasoning_id", `${path}.id`, "must be a string that is not empty");
  const listed =
    Array.isArray(summary) &&
    summary.every((part) => isObject(part) && part.type === "summary_text" && typeof part.text === "string");
  problems.check(
    listed,
    "reasoning_summary",
    `${path}.summary`,
    "must be a list of summary_text parts, even if empty",
  );
  const readable = !isUnstored || (typeof content === "string" && content !== "");
  const message = "must be there, for nothing is stored";
  problems.check(readable, "reasoning_encrypted", `${path}.encrypted_content`, message);
}

function checkMessage(item: JsonObject, path: string, problems: BodyProblems): void {
  const { role } = item;
  if (typeof role !== "string" || !["user", "assistant", "system", "developer"].includes(role)) {
    problems.add("role_unknown", `${path}.role`, "must be one of user, assistant, system, developer");
    return;
  }
  checkContent(item.content, role, `${path}.content`, problems);
}

function checkContent(content: unknown, role: string, path: string, problems: BodyProblems): void {
  if (typeof content === "string") checkText(content, path, problems);
  else if (!Array.isArray(content))
    problems.add("content_required", path, "must be a string or a list of parts");
  else if (content.length === 0) problems.add("content_empty", path, "must not be empty");
  else for (const [at, part] of content.entries()) checkPart(part, role, `${path}[${at}]`, problems);
}

function checkPart(part: unknown, role: string, path: string, problems: BodyProblems): void {
  const types = role === "assistant" ? ["output_text", "refusal"] : inputTypes;
  if (!isObject(part) || !types.includes(part.type as string)) {
    problems.add("content_type", path, `must be of a type that a ${role} message takes: ${types.join(", ")}`);
    return;
  }
  checkBreakpoint(part, role !== "assistant", path, problems);
  if (part.type === "input_text" || part.type === "output_text")
    checkText(part.text, `${path}.text`, problems);
  else if (part.type === "refusal") checkText(part.refusal, `${path}.refusal`, problems);
  else if (part.type === "input_file") checkFile(part, path, { urls: true, onlyPdf: false }, problems);
  else if ((part.image_url ?? null) !== null || typeof part.file_id !== "string" || part.file_id === "") {
    checkImageUrl(part.image_url, `${path}.image_url`, problems);
  }
}

function checkUnique(items: readonly JsonObject[], problems: BodyProblems): void {
  const ids = new Set<string>();
  const callIds = new Set<string>();
  items.forEach(({ id, type, call_id: callId }, at) => {
    if (typeof id === "string" && type !== "item_reference") {
      problems.check(!ids.has(id), "item_id_duplicate", `input[${at}].id`, `"${id}" is the id of two items`);
      ids.add(id);
    }
    if (typeof callId !== "string" || !calls.has(type as string)) return;
    const isNew = !callIds.has(callId);
    problems.check(isNew, "call_id_duplicate", `input[${at}].call_id`, `"${callId}" is the id of two calls`);
    callIds.add(callId);
  });
}

/** Reasoning comes before what the model made of it. */
function checkFollowers(items: readonly JsonObject[], problems: BodyProblems): void {
  items.forEach(({ type }, at) => {
    if (type !== "reasoning") return;
    const next = items[at + 1];
    const made = next !== undefined && (next.type === "reasoning" || isMade(next));
    const message = "is not followed by the item that the model made after it";
    problems.check(made, "reasoning_without_follower", `input[${at}]`, message);
  });
}

function isMade({ type, role }: JsonObject): boolean {
  if (type === undefined || type === "message") return role === "assistant";
  return typeof type === "string" && answeredBy(type) === undefined && type !== "mcp_approval_response";
}

/** The type of the calls that items of this type answer. */
function answeredBy(type: string): string | undefined {
  const call = type.endsWith("_output") ? type.slice(0, -"_output".length) : "";
  return calls.has(call) ? call : undefined;
}

function checkPairs(items: readonly JsonObject[], problems: BodyProblems): void {
  const open = new Map<string, number>();
  items.forEach(({ type, call_id: id }, at) => {
    if (typeof type !== "string" || typeof id !== "string") return;
    if (calls.has(type)) open.set(`${type} ${id}`, at);
    const call = answeredBy(type);
    if (call === undefined || open.delete(`${call} ${id}`)) return;
    problems.add(
      "tool_result_unexpected",
      `input[${at}]`,
      `answers "${id}", which is no open call before it`,
    );
  });
  for (const [key, at] of open) {
    const id = key.slice(key.indexOf(" ") + 1);
    problems.add("tool_result_missing", `input[${at}]`, `the call "${id}" is not answered`);
  }
}
