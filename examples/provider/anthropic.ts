import { type Api, type Json, onlyFields, Refused, require, signed, tokensOf } from "./provider.js";
import { Issued, type Said } from "./script.js";

const blockFields: Readonly<Record<string, string>> = {
  text: "type text citations cache_control",
  thinking: "type thinking signature",
  redacted_thinking: "type data",
  tool_use: "type id name input caller cache_control",
  tool_result: "type tool_use_id content is_error cache_control",
  image: "type source cache_control",
  document: "type source title context citations cache_control",
};
const places: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "tool_result", "image", "document"],
  assistant: ["text", "thinking", "redacted_thinking", "tool_use"],
};

/** The Messages API, as a current Claude model has it. */
export function anthropicApi(): Api {
  const issued = new Issued((block) =>
    block.type === "tool_use" ? block.id : block.type === "thinking" ? block.signature : undefined,
  );
  const api: Api = {
    name: "anthropic",
    path: "/v1/messages",
    paths: /^\/v1\/messages$/,
    check(body) {
      checkTop(body);
      checkTools(body);
      checkMessages(body);
      // A mark for the cache may stand on any block, and is no change of what was said.
      for (const { role, content } of body.messages)
        if (role === "assistant") issued.check(content.map(({ cache_control, ...said }: Json) => said));
    },
    pieces(body) {
      const pieces = [
        ...(body.tools ?? []),
        ...systemBlocks(body),
        ...body.messages.flatMap((message: Json) => message.content),
      ];
      return pieces.map((piece: Json) => {
        const { cache_control, ...rest } = piece;
        return { text: JSON.stringify(rest), isMarked: cache_control !== undefined };
      });
    },
    reads: (body) => ({
      said: body.messages.flatMap(({ role, content }: Json) =>
        content.flatMap((block: Json) => saidIn(role, block)),
      ),
      // A model that may call nothing calls nothing.
      tools: body.tool_choice?.type === "none" ? [] : (body.tools ?? []).map((tool: Json) => tool.name),
    }),
    answer({ body, number, tokens }, step) {
      const content: Json[] = [];
      if (body.thinking && body.thinking.type !== "disabled") {
        content.push({
          type: "thinking",
          thinking: step.thinking,
          signature: signed("anthropic", step.thinking),
        });
      }
      content.push({ type: "text", text: step.text });
      step.calls.forEach(({ name, input }, at) => {
        content.push({
          type: "tool_use",
          id: `toolu_${number}_${at}`,
          name,
          input,
          caller: { type: "direct" },
        });
      });
      issued.keep(content);
      return {
        id: `msg_${number}`,
        type: "message",
        role: "assistant",
        model: body.model,
        content,
        stop_reason: step.calls.length > 0 ? "tool_use" : "end_turn",
        stop_sequence: null,
        usage: {
          input_tokens: tokens.input - tokens.cached - tokens.written,
          cache_read_input_tokens: tokens.cached,
          cache_creation_input_tokens: tokens.written,
          output_tokens: tokensOf(JSON.stringify(content)),
        },
      };
    },
    tooLong: (tokens, limit) =>
      new Refused(
        limit === undefined
          ? "prompt is too long"
          : `prompt is too long: ${tokens} tokens > ${limit} maximum`,
      ),
    error: ({ message, code }) => ({ type: "error", error: { type: code, message } }),
  };
  return api;
}

function saidIn(role: Json, block: Json): readonly Said[] {
  if (block.type === "text") return [{ role, text: block.text }];
  if (block.type !== "tool_result") return block.type === "tool_use" ? [{ role, text: "" }] : [];
  const { content } = block;
  const texts = typeof content === "string" ? [content] : (content ?? []).map(({ text = "" }: Json) => text);
  return [{ role: "tool", text: texts.join("\n") }];
}

function checkTop(body: Json): void {
  onlyFields(
    body,
    "model max_tokens messages system tools tool_choice thinking temperature top_p top_k stop_sequences stream metadata output_config",
    "",
  );
  require(/^claude-/.test(body.model), `model: ${body.model}`);
  require(Number.isInteger(body.max_tokens) && body.max_tokens > 0, "max_tokens: Field required");
  for (const name of ["temperature", "top_p", "top_k"]) {
    require(body[name] === undefined, `\`${name}\` is deprecated for this model.`);
  }
  if (body.thinking) {
    const isKnown = ["adaptive", "disabled"].includes(body.thinking.type);
    require(isKnown, '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".');
    onlyFields(body.thinking, "type display", "thinking");
  }
}

function checkTools(body: Json): void {
  const holdsCalls = body.messages?.some((message: Json) =>
    message.content.some((block: Json) => /^tool_/.test(block.type)),
  );
  const isDeclared = Array.isArray(body.tools) && body.tools.length > 0;
  require(!holdsCalls ||
    isDeclared, "Requests which include `tool_use` or `tool_result` blocks must define tools");
  require(body.tool_choice === undefined ||
    isDeclared, "tool_choice may only be specified while providing tools");
  const names = new Set<string>();
  for (const tool of body.tools ?? []) {
    onlyFields(tool, "name description input_schema cache_control type strict", "tools");
    require(/^[a-zA-Z0-9_-]{1,128}$/.test(
      tool.name,
    ), "tools.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    require(tool.input_schema?.type === "object", "tools.input_schema.type: Field required");
    require(!names.has(tool.name), "tools: Tool names must be unique.");
    names.add(tool.name);
  }
}

function systemBlocks(body: Json): Json[] {
  return typeof body.system === "string" ? [{ type: "text", text: body.system }] : (body.system ?? []);
}

function checkMessages(body: Json): void {
  const { messages } = body;
  require(Array.isArray(messages) && messages.length > 0, "messages: at least one message is required");
  require(messages[0].role === "user", "messages: first message must use the user role");
  require(messages.at(-1).role === "user", "This model does not support assistant message prefill.");
  let marks = [...(body.tools ?? []), ...systemBlocks(body)].filter((piece) => piece.cache_control).length;
  const used = new Set<string>();
  messages.forEach((message: Json, at: number) => {
    const path = `messages.${at}`;
    onlyFields(message, "role content", path);
    require(message.role === "user" || message.role === "assistant", `${path}.role: unexpected role`);
    require(message.role !== messages[at - 1]?.role, `${path}: roles must alternate`);
    require(Array.isArray(message.content) &&
      message.content.length > 0, `${path}: content must be non-empty`);
    for (const block of message.content) {
      checkBlock(block, message.role, path);
      if (block.cache_control) marks++;
      if (block.type !== "tool_use") continue;
      require(!used.has(block.id), `${path}: \`tool_use\` ids must be unique`);
      used.add(block.id);
    }
    require(!/thinking$/.test(
      message.content.at(-1).type,
    ), `${path}: The final block cannot be \`thinking\`.`);
    if (message.role === "user") checkResults(message.content, messages[at - 1]?.content ?? [], path);
  });
  require(marks <= 4, `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`);
}

function checkBlock(block: Json, role: string, path: string): void {
  const isKnown = typeof block?.type === "string" && Object.hasOwn(blockFields, block.type);
  require(isKnown &&
    places[role]!.includes(block.type), `${path}: unexpected block ${block?.type} of a ${role}`);
  onlyFields(block, blockFields[block.type]!, path);
  if (block.type === "text")
    require(typeof block.text === "string" &&
      block.text.trim() !== "", `${path}: text content blocks must contain non-whitespace text`);
  if (block.type === "thinking") {
    require(block.signature ===
      signed("anthropic", block.thinking), `${path}: Invalid \`signature\` in \`thinking\` block`);
  }
  if (block.type === "tool_use") {
    require(/^[a-zA-Z0-9_-]+$/.test(block.id), `${path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    require(/^[a-zA-Z0-9_-]{1,200}$/.test(block.name), `${path}.name: invalid`);
    require(typeof block.input === "object" &&
      !Array.isArray(block.input), `${path}.input: Input should be an object`);
  }
}

function checkResults(blocks: readonly Json[], before: readonly Json[], path: string): void {
  const open = new Set(before.filter((block) => block.type === "tool_use").map((block) => block.id));
  let isAfterOther = false;
  for (const block of blocks) {
    if (block.type !== "tool_result") {
      isAfterOther = true;
      continue;
    }
    require(open.delete(
      block.tool_use_id,
    ), `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}`);
    require(!isAfterOther, `${path}: \`tool_result\` blocks must come first`);
  }
  require(open.size ===
    0, `${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${[...open]}`);
}
