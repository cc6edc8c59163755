import fc from "fast-check";
import { type Message, MessageRole, type Part } from "../../../src/domain/message.js";
import type { RenderInput } from "../../../src/rendering/render-input.js";
import { call, fileAt, imageAt, message, opaque, result, text, thinking, toolOf } from "../contexts.js";
import { randomContexts } from "../random-contexts.js";

const items: fc.Arbitrary<Part> = fc
  .record(
    {
      type: fc.constantFrom(
        "reasoning",
        "web_search_call",
        "compaction",
        "refusal",
        "input_audio",
        "item_reference",
      ),
      id: fc.constantFrom<unknown>("rs_1", "rs_2", "", 7, null),
      summary: fc.constantFrom<unknown>([], [{ type: "summary_text", text: "so" }], [{}], "so"),
      encrypted_content: fc.constantFrom<unknown>("ZW5j", "", null),
      refusal: fc.constantFrom("", "No."),
      input_audio: fc.constantFrom<unknown>({ data: "aGk=", format: "wav" }, { data: "" }, "aGk="),
    },
    { requiredKeys: ["type"] },
  )
  .map((item) => opaque("openai", item.type, item));
const reasoning: fc.Arbitrary<Part> = fc
  .constantFrom("rs_1", "rs_2", "rs_3")
  .map((id) =>
    opaque("openai", "reasoning", { type: "reasoning", id, summary: [], encrypted_content: "ZW5j" }),
  );
const addresses = fc.constantFrom(
  "openai-file:file-1",
  "openai-file:",
  "data:image/png;base64,aGk=",
  "data:image/png;base64,",
  "data:image/png;base64,%%",
  "data:application/pdf;base64,aGk=",
  "https:// ",
);
const parts: fc.Arbitrary<Part> = fc.oneof(
  { weight: 4, arbitrary: items },
  { weight: 3, arbitrary: reasoning },
  fc.constantFrom(
    text("So."),
    text(" "),
    thinking("openai", "Hm.", "sig"),
    call("same", "search", {}),
    result("same", "found"),
  ),
  addresses.map((uri) => imageAt(uri)),
  addresses.map((uri) => fileAt(uri, "application/pdf", "a.pdf")),
);
const messages: fc.Arbitrary<Message> = fc
  .tuple(
    fc.constantFrom(MessageRole.ASSISTANT, MessageRole.ASSISTANT, MessageRole.USER),
    fc.array(parts, { maxLength: 5 }),
  )
  .map(([role, made]) => message(role, made));
const tools = fc.constantFrom(
  ...[
    { type: "object", properties: { days: { type: "array" }, default: { type: ["array", "null"] } } },
    {
      type: "object",
      properties: { a: { anyOf: [{ type: "array", prefixItems: [] }] } },
      enum: [{}],
      not: {},
    },
    { type: "object", default: { type: "array" }, const: 1 },
  ].map((schema, at) => toolOf(`odd_${at}`, "", schema)),
);

/** Contexts of every kind, with more of what only OpenAI makes and takes. */
export function openaiContexts(model: string): fc.Arbitrary<RenderInput> {
  return fc
    .tuple(randomContexts(model), fc.array(messages, { maxLength: 4 }), fc.array(tools, { maxLength: 2 }))
    .map(([input, more, moreTools]) => ({
      ...input,
      tools: [...input.tools, ...moreTools],
      // By length, which mixes the two.
      messages: [...input.messages, ...more].sort((a, b) => a.parts.length - b.parts.length),
    }));
}
