import fc from "fast-check";
import {
  ApprovalDecision,
  MessageRole,
  type Part,
  type ToolResultContent,
} from "../../src/domain/message.js";
import type { Tool } from "../../src/domain/workspace.js";
import type { CacheBreakpoint, RenderInput } from "../../src/rendering/render-input.js";
import { context, message, toolOf } from "./contexts.js";

const words = fc.oneof(
  fc.constantFrom("", " ", "\n\t", "hello", "two words", '{"a": 1}', "\u{1f600}", "a\u0000b"),
  fc.string({ maxLength: 12 }),
);
const ids = fc.constantFrom("call_1", "call_2", "a:b", "a_b", "", "ü", "x".repeat(200));
const names = fc.constantFrom("search", "a.b", "a_b", "a b", "", "7up", "ü", "n".repeat(90), "n".repeat(150));
const providers = fc.constantFrom(
  "anthropic",
  "openai",
  "google",
  "gemini",
  "vertex-ai",
  "Anthropic",
  "",
  "acme",
);
const signatures = fc.constantFrom("", "c2ln", "c2lnbmF0dXJl", "not base64!");
const argumentTexts = fc.oneof(
  fc.constantFrom("", "{}", "[]", "null", "{", '{"q": "\\ud800"}', '{"a": {"b": [1, null]}}'),
  fc.json(),
);
const uris = fc.constantFrom(
  "https://example.com/a.png",
  "http://example.com/b",
  "gs://bucket/c.pdf",
  "data:,x",
  "file",
);
const mediaTypes = fc.constantFrom(
  "image/png",
  "image/JPG",
  "image/bmp",
  "application/pdf",
  "text/plain; charset=utf-8",
  "application/json",
  "application/x",
  "video/mp4",
  "nonsense",
  "",
);
const sources = fc.oneof(
  fc.constant(undefined),
  uris.map((value) => ({ $case: "uri" as const, value })),
  fc.uint8Array({ maxLength: 5 }).map((bytes) => ({ $case: "data" as const, value: Buffer.from(bytes) })),
);
const images = fc.record({ source: sources, mediaType: mediaTypes });
const files = fc.record({
  source: sources,
  mediaType: mediaTypes,
  name: fc.constantFrom("", "a.pdf", "b.txt", "\u{1f600}".repeat(300)),
});
const opaqueTexts = fc.oneof(
  fc.constantFrom(
    "raw",
    "{}",
    '{"type": "redacted_thinking", "data": "ZGF0YQ=="}',
    '{"type": "redacted_thinking"}',
    '{"type": "thinking", "thinking": "so", "signature": "c2ln", "cache_control": {"type": "ephemeral"}}',
    '{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}',
    '{"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}',
    '{"type": "tool_use", "id": "call_1", "name": "search", "input": {}}',
    '{"type": "tool_result", "tool_use_id": "call_1"}',
    '{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}',
    '{"type": "message", "id": "msg_1"}',
    '{"type": "function_call", "call_id": "call_1", "name": "search", "arguments": "{}"}',
    '{"functionCall": {"name": "search"}}',
    '{"text": "", "thoughtSignature": "c2ln"}',
    '{"executableCode": {"language": "PYTHON", "code": "1"}}',
    '{"inlineData": {"mimeType": "image/png", "data": "!"}}',
  ),
  fc.json(),
);

const resultPieces: fc.Arbitrary<ToolResultContent> = fc.oneof(
  words.map((text) => ({ content: { $case: "text" as const, value: { text } } })),
  images.map((value) => ({ content: { $case: "image" as const, value } })),
  files.map((value) => ({ content: { $case: "file" as const, value } })),
  fc.constant({ content: undefined }),
);

const texts: fc.Arbitrary<Part> = words.map((text) => ({ content: { $case: "text", value: { text } } }));
const calls: fc.Arbitrary<Part> = fc
  .record({ callId: ids, name: names, argumentsJson: argumentTexts, signature: signatures })
  .map((value) => ({ content: { $case: "toolCall", value } }));
const results: fc.Arbitrary<Part> = fc
  .record({ callId: ids, content: fc.array(resultPieces, { maxLength: 3 }), isError: fc.boolean() })
  .map((value) => ({ content: { $case: "toolResult", value } }));
const others: fc.Arbitrary<Part> = fc.oneof(
  fc
    .record({ text: words, signature: signatures, provider: providers })
    .map((value) => ({ content: { $case: "thinking" as const, value } })),
  images.map((value) => ({ content: { $case: "image" as const, value } })),
  files.map((value) => ({ content: { $case: "file" as const, value } })),
  fc
    .record({
      provider: providers,
      kind: fc.constantFrom("reasoning", "redacted_thinking", ""),
      data: opaqueTexts,
    })
    .map(({ data, ...rest }) => ({
      content: { $case: "opaque" as const, value: { ...rest, data: Buffer.from(data) } },
    })),
  fc
    .record({ approvalId: fc.constantFrom("ask_1", "ask_2"), callId: ids, prompt: words })
    .map((value) => ({ content: { $case: "approvalRequest" as const, value } })),
  fc
    .record({
      approvalId: fc.constantFrom("ask_1", "ask_2"),
      decision: fc.constantFrom(
        ApprovalDecision.APPROVED,
        ApprovalDecision.DENIED,
        ApprovalDecision.UNSPECIFIED,
      ),
      reason: words,
    })
    .map((value) => ({ content: { $case: "approvalAnswer" as const, value } })),
  fc.constant({ content: undefined }),
);
const anyParts = fc.array(fc.oneof(texts, calls, results, others), { maxLength: 4 });

/** Half of the messages hold what their role should, the others anything. */
const messages = fc.oneof(
  fc.tuple(fc.constantFrom(...Object.values(MessageRole)), anyParts),
  fc.tuple(fc.constant(MessageRole.USER), fc.array(texts, { minLength: 1, maxLength: 2 })),
  fc.tuple(fc.constant(MessageRole.ASSISTANT), fc.array(fc.oneof(texts, calls, others), { maxLength: 4 })),
  fc.tuple(fc.constant(MessageRole.TOOL), fc.array(results, { minLength: 1, maxLength: 3 })),
);

const schemas = fc.oneof(
  fc.constantFrom(
    "",
    "{",
    "null",
    "{}",
    '{"type": "object"}',
    '{"type": "string"}',
    '{"type": ["object", "null"], "required": ["a", "a", 1]}',
    '{"properties": 3, "required": "a"}',
    '{"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b c": {}}}]}',
    '{"type": "object", "properties": {"not allowed!": {}, "ok": {"type": "string"}}, "required": ["not allowed!"]}',
  ),
  fc.json(),
);
const tools: fc.Arbitrary<Tool> = fc.tuple(names, words, schemas).map(([name, description, schema]) => {
  return toolOf(name, description, schema);
});
const ttls = fc.constantFrom(300, 3_600, 0);
const breakpoints: fc.Arbitrary<CacheBreakpoint> = fc.oneof(
  fc.record({ after: fc.constantFrom("tools" as const, "system" as const), ttlSeconds: ttls }),
  fc.record({ after: fc.constant("message" as const), messageIndex: fc.nat(12), ttlSeconds: ttls }),
);

/** Contexts of every kind, well paired or not. */
export function randomContexts(...models: readonly string[]): fc.Arbitrary<RenderInput> {
  return fc
    .record({
      model: fc.constantFrom(...models),
      system: words,
      tools: fc.array(tools, { maxLength: 4 }),
      messages: fc.array(
        fc.tuple(messages, fc.array(texts, { maxLength: 1 })).map(([[role, parts], before]) => {
          return message(role, parts, before);
        }),
        { maxLength: 10 },
      ),
      maxTokens: fc.constantFrom(0, 1, 1_024, 1_025, 8_000),
      outputTokens: fc.constantFrom(0, 64_000),
      temperature: fc.constantFrom(undefined, 0, 0.7, 1, 2, 5, -1, Number.NaN),
      thinking: fc.option(
        fc.record({
          enabled: fc.boolean(),
          budgetTokens: fc.constantFrom(0, 500, 1_024, 4_000, 100_000),
          effort: fc.constantFrom("", "low", "medium", "high", "xhigh", "max", "minimal", "odd"),
        }),
        { nil: undefined },
      ),
      breakpoints: fc.array(breakpoints, { maxLength: 7 }),
      cacheKey: words,
    })
    .map(context);
}

/** The texts that the user and the assistant said, and how many calls the assistant made. */
export function saidIn({ messages: given }: RenderInput): {
  readonly texts: readonly string[];
  readonly calls: number;
} {
  const said: string[] = [];
  let callCount = 0;
  for (const { role, parts, contextParts } of given) {
    for (const { content } of [...contextParts, ...parts]) {
      if (content?.$case === "text" && content.value.text.trim() !== "") said.push(content.value.text);
      if (content?.$case === "toolCall" && role === MessageRole.ASSISTANT) callCount++;
    }
  }
  return { texts: said, calls: callCount };
}

/** A context, and how many of its messages make one that ends with the user and leaves no call open. */
export function closedPrefixes(...models: readonly string[]): fc.Arbitrary<readonly [RenderInput, number]> {
  return randomContexts(...models)
    .map(({ messages: given, ...rest }): readonly [RenderInput, number] => {
      const open: string[] = [];
      let end = 0;
      given.forEach(({ role, parts }, index) => {
        for (const { content } of parts) {
          if (content?.$case === "toolCall" && role === MessageRole.ASSISTANT)
            open.push(content.value.callId);
          if (content?.$case !== "toolResult") continue;
          const answered = open.indexOf(content.value.callId);
          if (answered >= 0) open.splice(answered, 1);
        }
        const isText = parts.some(
          ({ content }) => content?.$case === "text" && content.value.text.trim() !== "",
        );
        if (open.length === 0 && role === MessageRole.USER && isText) end = index + 1;
      });
      return [{ ...rest, messages: given, breakpoints: [] }, end];
    })
    .filter(([, end]) => end > 0);
}

/** Every text in a body, wherever it stands: what was told after results is part of them. */
export function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
