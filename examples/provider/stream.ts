import type { Json } from "./provider.js";

/** How long the pieces are in which texts come. */
const pieceLength = 24;

/** An answer as the server-sent events in which its provider streams it. */
export function eventsOf(api: string, answer: Json): readonly string[] {
  if (api === "anthropic") return anthropicEvents(answer).map((event) => sse(event, event.type));
  if (api === "openai-responses") return responsesEvents(answer).map((event) => sse(event, event.type));
  if (api === "openai-chat") return [...chatEvents(answer).map((event) => sse(event)), "data: [DONE]\n\n"];
  return geminiEvents(answer).map((event) => sse(event));
}

function sse(data: Json, name?: string): string {
  return `${name ? `event: ${name}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
}

function pieces(text: string): string[] {
  return text.match(new RegExp(`[^]{1,${pieceLength}}`, "gu")) ?? [];
}

function anthropicEvents({ content, stop_reason, stop_sequence, usage, ...message }: Json): Json[] {
  const { output_tokens, ...input } = usage;
  const start = { ...message, content: [], stop_reason: null, stop_sequence: null };
  return [
    { type: "message_start", message: { ...start, usage: { ...input, output_tokens: 1 } } },
    { type: "ping" },
    ...content.flatMap((block: Json, index: number) => {
      const { start, deltas } = anthropicBlock(block);
      return [
        { type: "content_block_start", index, content_block: start },
        ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
        { type: "content_block_stop", index },
      ];
    }),
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage: { output_tokens } },
    { type: "message_stop" },
  ];
}

function anthropicBlock(block: Json): { start: Json; deltas: Json[] } {
  if (block.type === "text") {
    const deltas: Json[] = pieces(block.text).map((text) => ({ type: "text_delta", text }));
    for (const citation of block.citations ?? []) deltas.push({ type: "citations_delta", citation });
    return { start: { ...block, text: "", citations: block.citations ? [] : block.citations }, deltas };
  }
  if (block.type === "thinking") {
    const deltas: Json[] = pieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking }));
    deltas.push({ type: "signature_delta", signature: block.signature });
    return { start: { ...block, thinking: "", signature: "" }, deltas };
  }
  if (block.type === "tool_use") {
    const deltas = pieces(JSON.stringify(block.input)).map((partial_json) => ({
      type: "input_json_delta",
      partial_json,
    }));
    return { start: { ...block, input: {} }, deltas };
  }
  return { start: block, deltas: [] };
}

function responsesEvents(response: Json): Json[] {
  const started = { ...response, status: "in_progress", output: [], usage: null };
  const events: Json[] = [{ type: "response.created", response: started }];
  response.output.forEach((item: Json, output_index: number) => {
    const at = { output_index, item_id: item.id };
    events.push({ type: "response.output_item.added", ...at, item: { ...item, content: [] } });
    for (const { type, text } of item.content ?? []) {
      if (type !== "output_text") continue;
      for (const delta of pieces(text)) events.push({ type: "response.output_text.delta", ...at, delta });
    }
    events.push({ type: "response.output_item.done", ...at, item });
  });
  const end = response.status === "completed" ? "completed" : response.status;
  return [...events, { type: `response.${end}`, response }];
}

function chatEvents({ choices, usage, ...top }: Json): Json[] {
  const chunk = (index: number, delta: Json, finish_reason: Json = null) => ({
    ...top,
    object: "chat.completion.chunk",
    choices: [{ index, delta, finish_reason }],
  });
  const said = choices.flatMap(({ index, message, finish_reason }: Json) => {
    const { role, content, tool_calls, ...rest } = message;
    const calls = (tool_calls ?? []).flatMap((call: Json, at: number) => [
      chunk(index, { tool_calls: [{ index: at, ...withArguments(call, "") }] }),
      ...pieces(call.function?.arguments ?? "").map((text) =>
        chunk(index, { tool_calls: [{ index: at, function: { arguments: text } }] }),
      ),
    ]);
    return [
      chunk(index, { role, content: content === null || content === undefined ? content : "" }),
      ...pieces(content ?? "").map((text) => chunk(index, { content: text })),
      ...calls,
      ...(Object.keys(rest).length > 0 ? [chunk(index, rest)] : []),
      chunk(index, {}, finish_reason),
    ];
  });
  return usage ? [...said, { ...top, object: "chat.completion.chunk", choices: [], usage }] : said;
}

function withArguments(call: Json, text: string): Json {
  return call.function ? { ...call, function: { ...call.function, arguments: text } } : call;
}

function geminiEvents({ candidates, usageMetadata, ...top }: Json): Json[] {
  const [{ content, finishReason, finishMessage, ...candidate }] = candidates;
  if (!content || candidates.length > 1) return [{ candidates, usageMetadata, ...top }];
  const parts = content.parts.flatMap((part: Json) => {
    const { text, ...rest } = part;
    // What is signed comes in one piece: to put it together again would be to change it.
    const isWhole = text === undefined || text === "" || rest.thoughtSignature !== undefined;
    return isWhole ? [part] : pieces(text).map((piece) => ({ text: piece, ...rest }));
  });
  return parts.map((part: Json, at: number) => {
    const isLast = at === parts.length - 1;
    const said = { content: { ...content, parts: [part] }, ...candidate };
    const ending = isLast ? { finishReason, ...(finishMessage ? { finishMessage } : {}) } : {};
    return { ...top, candidates: [{ ...said, ...ending }], ...(isLast ? { usageMetadata } : {}) };
  });
}
