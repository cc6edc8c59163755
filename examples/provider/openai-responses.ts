import {
  checkFunction,
  checkId,
  checkModel,
  checkName,
  openaiError,
  openaiTooLong,
  plainPieces,
  saidIn,
} from "./openai.js";
import { type Api, type Json, onlyFields, require, signed, tokensOf } from "./provider.js";
import { Issued, type Said } from "./script.js";

const itemFields: Readonly<Record<string, string>> = {
  message: "type id role status phase content",
  reasoning: "type id summary content encrypted_content status",
  function_call: "type id call_id name arguments status",
  function_call_output: "type id call_id output status",
};

/** Responses, for a model that reasons, with nothing stored. */
export function openaiResponsesApi(): Api {
  const issued = new Issued((item) => item.id);
  const api: Api = {
    name: "openai-responses",
    path: "/v1/responses",
    paths: /^\/v1\/responses$/,
    check(body) {
      checkModel(body);
      onlyFields(
        body,
        `model input instructions tools tool_choice store include reasoning max_output_tokens prompt_cache_key prompt_cache_options
        parallel_tool_calls metadata text truncation stream`,
        "",
      );
      const most = body.max_output_tokens;
      require(most === undefined ||
        most >= 16, "Invalid 'max_output_tokens': integer below minimum value 16");
      for (const tool of body.tools ?? []) checkFunction(tool, "tools");
      checkInput(body.input);
      issued.check(body.input);
    },
    pieces: (body) => plainPieces([...(body.tools ?? []), body.instructions ?? "", ...body.input]),
    reads: (body) => ({
      said: body.input.flatMap(saidBy),
      tools: (body.tools ?? []).map((tool: Json) => tool.name),
    }),
    answer({ body, number, tokens }, step) {
      const output: Json[] = [];
      if (body.reasoning) {
        const sealed = signed("openai", step.thinking);
        output.push({ id: `rs_${number}`, type: "reasoning", summary: [], encrypted_content: sealed });
      }
      output.push({
        id: `msg_${number}`,
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: step.text, annotations: [], logprobs: [] }],
      });
      step.calls.forEach(({ name, input }, at) => {
        const args = JSON.stringify(input);
        const id = `fc_${number}_${at}`;
        output.push({
          id,
          type: "function_call",
          call_id: `call_r${number}_${at}`,
          name,
          arguments: args,
          status: "completed",
        });
      });
      issued.keep(output);
      const written = tokensOf(JSON.stringify(output));
      return {
        id: `resp_${number}`,
        object: "response",
        model: body.model,
        status: "completed",
        error: null,
        incomplete_details: null,
        output,
        usage: {
          input_tokens: tokens.input,
          input_tokens_details: { cached_tokens: tokens.cached },
          output_tokens: written,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: tokens.input + written,
        },
      };
    },
    tooLong: openaiTooLong,
    error: openaiError,
  };
  return api;
}

function saidBy(item: Json): readonly Said[] {
  if (item.type === "function_call_output") return saidIn("tool", item.output);
  return item.role === "user" || item.role === "assistant" ? saidIn(item.role, item.content) : [];
}

function checkInput(input: Json): void {
  require(Array.isArray(input) && input.length > 0, "Missing required parameter: 'input'");
  const open = new Set<string>();
  const ids = new Set<string>();
  input.forEach((item: Json, at: number) => {
    const path = `input[${at}]`;
    const type = item.type ?? "message";
    require(Object.hasOwn(itemFields, type), `Invalid value: '${type}' at '${path}'`);
    onlyFields(item, itemFields[type]!, path);
    if (item.id !== undefined) {
      require(!ids.has(item.id), `Duplicate item found with id ${item.id}.`);
      ids.add(item.id);
    }
    if (type === "message") checkMessage(item, path);
    else if (type === "reasoning") {
      require(Array.isArray(item.summary), `Missing required parameter: '${path}.summary'`);
      require(typeof item.encrypted_content ===
        "string", `Item '${item.id}' not found. Items are not persisted when \`store\` is set to false.`);
      const next = input[at + 1];
      const isFollowed =
        next?.role === "assistant" || next?.type === "function_call" || next?.type === "reasoning";
      require(isFollowed, `Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
    } else {
      checkId(item.call_id, `${path}.call_id`, 64);
      if (type === "function_call") {
        checkName(item.name, path);
        require(typeof item.arguments === "string", `Invalid type for '${path}.arguments'`);
        require(!open.has(item.call_id), `Duplicate call_id ${item.call_id}`);
        open.add(item.call_id);
      } else
        require(open.delete(
          item.call_id,
        ), `No tool call found for function call output with call_id ${item.call_id}.`);
    }
  });
  require(open.size === 0, `No tool output found for function call ${[...open]}.`);
}

function checkMessage({ role, content }: Json, path: string): void {
  require(["user", "assistant", "developer", "system"].includes(role), `Invalid value at '${path}.role'`);
  const parts =
    typeof content === "string"
      ? [{ type: role === "assistant" ? "output_text" : "input_text", text: content }]
      : content;
  require(Array.isArray(parts) && parts.length > 0, `Invalid '${path}.content': empty array`);
  for (const part of parts) {
    const types =
      role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"];
    require(types.includes(part.type), `Invalid value: '${part.type}'. Supported values are: ${types}`);
    if ("text" in part) require(part.text !== "", `Invalid '${path}.content': empty string`);
  }
}
