import { ApprovalDecision, type Message, MessageRole, type Part } from "../../src/domain/message.js";
import { type Tool, ToolKind } from "../../src/domain/workspace.js";
import type { RenderInput } from "../../src/rendering/render-input.js";

/** Short ways to write messages. */

export function message(
  role: MessageRole,
  parts: readonly Part[],
  contextParts: readonly Part[] = [],
): Message {
  return {
    id: "",
    turnId: "",
    index: 0,
    role,
    parts,
    contextParts,
    contextJson: "",
    o200kTokens: 0,
    contextO200kTokens: 0,
    createTime: undefined,
    injected: undefined,
    prompted: false,
  };
}

export const user = (...parts: readonly Part[]) => message(MessageRole.USER, parts);
export const assistant = (...parts: readonly Part[]) => message(MessageRole.ASSISTANT, parts);
export const system = (...parts: readonly Part[]) => message(MessageRole.SYSTEM, parts);
export const tool = (...parts: readonly Part[]) => message(MessageRole.TOOL, parts);

export function text(value: string): Part {
  return { content: { $case: "text", value: { text: value } } };
}

export function thinking(provider: string, value: string, signature = "c2lnbmF0dXJl"): Part {
  return { content: { $case: "thinking", value: { text: value, signature, provider } } };
}

export function opaque(provider: string, kind: string, data: unknown): Part {
  const bytes = Buffer.from(typeof data === "string" ? data : JSON.stringify(data));
  return { content: { $case: "opaque", value: { provider, kind, data: bytes } } };
}

export function call(callId: string, name: string, args: unknown, signature = ""): Part {
  const argumentsJson = typeof args === "string" ? args : JSON.stringify(args);
  return { content: { $case: "toolCall", value: { callId, name, argumentsJson, signature } } };
}

export function result(callId: string, ...pieces: readonly (string | Part)[]): Part {
  const content = pieces.map((piece) => {
    const part = typeof piece === "string" ? text(piece).content : piece.content;
    if (part?.$case === "text" || part?.$case === "image" || part?.$case === "file") return { content: part };
    throw new Error(`${part?.$case} cannot be in a result`);
  });
  return { content: { $case: "toolResult", value: { callId, content, isError: false } } };
}

export function failure(callId: string, ...pieces: readonly (string | Part)[]): Part {
  const { content } = result(callId, ...pieces);
  if (content?.$case !== "toolResult") throw new Error("not a result");
  return { content: { $case: "toolResult", value: { ...content.value, isError: true } } };
}

export function imageAt(uri: string, mediaType = ""): Part {
  return { content: { $case: "image", value: { source: { $case: "uri", value: uri }, mediaType } } };
}

export function imageOf(data: string, mediaType: string): Part {
  const value = { source: { $case: "data" as const, value: Buffer.from(data) }, mediaType };
  return { content: { $case: "image", value } };
}

export function fileAt(uri: string, mediaType: string, name: string): Part {
  return { content: { $case: "file", value: { source: { $case: "uri", value: uri }, mediaType, name } } };
}

export function fileOf(data: string, mediaType: string, name: string): Part {
  const value = { source: { $case: "data" as const, value: Buffer.from(data) }, mediaType, name };
  return { content: { $case: "file", value } };
}

export function approvalRequest(approvalId: string, callId: string, prompt: string): Part {
  return { content: { $case: "approvalRequest", value: { approvalId, callId, prompt } } };
}

export function approvalAnswer(approvalId: string, isApproved: boolean, reason = ""): Part {
  const decision = isApproved ? ApprovalDecision.APPROVED : ApprovalDecision.DENIED;
  return { content: { $case: "approvalAnswer", value: { approvalId, decision, reason } } };
}

export function toolOf(
  name: string,
  description: string,
  schema: unknown,
  kind: ToolKind = ToolKind.OTHER,
): Tool {
  return {
    name,
    description,
    inputSchemaJson: typeof schema === "string" ? schema : JSON.stringify(schema),
    kind,
    capability: "",
    requiredPermissions: [],
    dangerous: false,
  };
}

export const searchFlights = toolOf("search_flights", "Finds flights between two cities.", {
  type: "object",
  properties: {
    from: { type: "string", description: "IATA code" },
    to: { type: "string", description: "IATA code" },
    day: { type: "string", format: "date" },
  },
  required: ["from", "to"],
});
/** Its name is one that every provider refuses, its schema is empty. */
export const listCards = toolOf("wallet/cards.list", "Lists the payment cards.", "");
export const bookFlight = toolOf("book_flight", "Books a flight.", {
  type: "object",
  properties: { flight: { type: "string" } },
  required: ["flight"],
  additionalProperties: false,
});
const reply = toolOf(
  "reply",
  "Answers the manager.",
  { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  ToolKind.REPLY,
);

/** A context; what is not given is nothing. The renderers' own tests give their models. */
export function context(fields: Partial<RenderInput>): RenderInput {
  return {
    model: "",
    system: "",
    tools: [],
    messages: [],
    maxTokens: 0,
    outputTokens: 64_000,
    temperature: undefined,
    thinking: undefined,
    breakpoints: [],
    cacheKey: "",
    ...fields,
  };
}

const deskSystem = "You are the travel desk. Be brief.";
const pixel = "not really a picture";

/** What every renderer has a golden body for. */
export const contexts: Readonly<Record<string, RenderInput>> = {
  "parallel-tool-calls": context({
    system: deskSystem,
    tools: [searchFlights, listCards, bookFlight],
    maxTokens: 4_096,
    temperature: 0.3,
    cacheKey: "session-1",
    messages: [
      user(text("Flights from Berlin to Lisbon or Porto, and which card do I have?")),
      assistant(
        text("I look at all three."),
        call("call_1", "search_flights", { from: "BER", to: "LIS" }),
        call("call_2", "search_flights", { from: "BER", to: "OPO" }),
        call("call_3", "wallet/cards.list", {}),
      ),
      tool(result("call_2", "TP533 07:10"), result("call_1", "TP531 06:00", "LH1166 09:30")),
      tool(failure("call_3", "the wallet is locked")),
      assistant(text("Lisbon at 06:00 or 09:30, Porto at 07:10. Your wallet is locked.")),
      user(text("Take the 09:30.")),
    ],
    breakpoints: [
      { after: "tools", ttlSeconds: 3_600 },
      { after: "system", ttlSeconds: 3_600 },
      { after: "message", messageIndex: 3, ttlSeconds: 300 },
      { after: "message", messageIndex: 5, ttlSeconds: 300 },
    ],
  }),
  thinking: context({
    system: deskSystem,
    tools: [searchFlights],
    maxTokens: 16_000,
    temperature: 0.3,
    thinking: { enabled: true, budgetTokens: 4_000, effort: "medium" },
    messages: [
      user(text("Is there a flight to Lisbon?")),
      assistant(
        thinking("anthropic", "Look for one first.", "YW50aHJvcGljLTE="),
        opaque("anthropic", "redacted_thinking", { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" }),
        opaque("openai", "reasoning", {
          type: "reasoning",
          id: "rs_1",
          summary: [],
          encrypted_content: "ZW5j",
        }),
        thinking("google", "A search is needed.", "Z29vZ2xlLTE="),
        call("call_1", "search_flights", { from: "BER", to: "LIS" }, "Z29vZ2xlLWNhbGw="),
      ),
      tool(result("call_1", "LH1166 09:30")),
      assistant(thinking("anthropic", "One is enough.", "YW50aHJvcGljLTI="), text("Yes, at 09:30.")),
      user(text("And back?")),
      assistant(
        thinking("anthropic", "Now the other way.", "YW50aHJvcGljLTM="),
        call("call_2", "search_flights", { from: "LIS", to: "BER" }, "Z29vZ2xlLWNhbGwtMg=="),
      ),
      tool(result("call_2", "LH1167 18:00")),
    ],
    breakpoints: [{ after: "message", messageIndex: 5, ttlSeconds: 300 }],
  }),
  images: context({
    messages: [
      user(
        text("What is on these?"),
        imageAt("https://example.com/harbour.png", "image/png"),
        imageOf(pixel, "image/jpeg"),
        imageOf(pixel, "image/bmp"),
        fileAt("https://example.com/ticket.pdf", "application/pdf", "ticket.pdf"),
        fileOf("%PDF-1.4", "application/pdf", "invoice.pdf"),
        fileOf("seat 4A", "text/plain", "seat.txt"),
        fileOf("{}", "application/x", "name.bin"),
      ),
      assistant(text("A harbour."), call("call_1", "screenshot", {})),
      tool(
        result(
          "call_1",
          "the page",
          imageOf(pixel, "image/png"),
          imageAt("https://example.com/page.webp"),
          fileOf("%PDF-1.4", "application/pdf", "page.pdf"),
        ),
      ),
      assistant(text("This is it:"), imageOf(pixel, "image/png")),
      user(text("Thanks.")),
    ],
  }),
  "empty-content": context({
    messages: [
      user(text(""), text("Do it.")),
      assistant(text(" \n"), call("call_1", "noop", "")),
      tool(result("call_1")),
      assistant(thinking("anthropic", "Done.", "YW50aHJvcGljLTE=")),
      user(text("And?")),
      assistant(text("")),
      user(text("Still there?")),
      assistant(call("call_2", "noop", {}), call("call_3", "noop", {})),
      tool(failure("call_2"), result("call_3", "")),
    ],
  }),
  summary: context({
    system: deskSystem,
    messages: [
      user(text("[Previous conversation summary]\nThe user wants to fly to Lisbon on Friday.")),
      user(text("At which time?")),
      assistant(text("At 09:30.")),
      user(text("Book it.")),
    ],
    breakpoints: [
      { after: "system", ttlSeconds: 300 },
      { after: "message", messageIndex: 0, ttlSeconds: 300 },
    ],
  }),
  "consecutive-users": context({
    messages: [
      user(text("Hello.")),
      message(MessageRole.USER, [text("Are you there?")], [text("Today is Friday.")]),
      system(text("Answer in German.")),
      user(text("Hello?")),
    ],
  }),
  "provider-switch": context({
    system: deskSystem,
    tools: [searchFlights],
    thinking: { enabled: true, budgetTokens: 2_048, effort: "high" },
    messages: [
      user(text("A flight to Lisbon.")),
      assistant(
        opaque("openai", "reasoning", {
          type: "reasoning",
          id: "rs_1",
          summary: [],
          encrypted_content: "ZW5j",
        }),
        call("fc:1|a", "search_flights", { from: "BER", to: "LIS" }),
      ),
      tool(result("fc:1|a", "LH1166 09:30")),
      assistant(thinking("anthropic", "Say it.", "YW50aHJvcGljLTE="), text("At 09:30.")),
      user(text("And to Porto?")),
      assistant(
        thinking("gemini", "Search.", "Z29vZ2xlLTE="),
        call("fc:1|a", "search_flights", "{from: BER", "Z29vZ2xlLWNhbGw="),
      ),
      tool(failure("fc:1|a", "the arguments are not JSON")),
      assistant(call("toolu_7", "search_flights", { from: "BER", to: "OPO" })),
      tool(result("toolu_7", "TP533 07:10")),
    ],
  }),
  worker: context({
    system: "You work for a manager.\n\nYour task: find a room near the airport.",
    tools: [reply],
    maxTokens: 1_024,
    messages: [user(text("Begin."))],
    breakpoints: [{ after: "tools", ttlSeconds: 300 }],
  }),
  "zero-turns": context({ messages: [user(text("Hello."))] }),
  "approval-between": context({
    tools: [bookFlight],
    messages: [
      user(text("Book LH1166.")),
      assistant(
        text("I book it."),
        call("call_1", "book_flight", { flight: "LH1166" }),
        approvalRequest("ask_1", "call_1", "Book LH1166 for 212 EUR?"),
      ),
      user(approvalAnswer("ask_1", true, "go ahead")),
      tool(result("call_1", "booked")),
      assistant(text("Booked.")),
      user(text("Thanks.")),
    ],
    breakpoints: [{ after: "message", messageIndex: 3, ttlSeconds: 300 }],
  }),
  orphans: context({
    messages: [
      tool(result("call_0", "LH1166 09:30", imageOf(pixel, "image/png"))),
      assistant(text("There is one at 09:30."), call("call_1", "book_flight", [])),
      user(text("Wait.")),
    ],
  }),
  "active-tool-loop": context({
    system: deskSystem,
    tools: [searchFlights, bookFlight],
    messages: [
      user(text("Book a flight to Lisbon.")),
      assistant(call("call_1", "search_flights", { from: "BER", to: "LIS" })),
      tool(result("call_1", "LH1166 09:30")),
      assistant(call("call_2", "book_flight", { flight: "LH1166" })),
      tool(result("call_2", "booked")),
    ],
    breakpoints: [
      { after: "tools", ttlSeconds: 300 },
      { after: "system", ttlSeconds: 300 },
      { after: "message", messageIndex: 0, ttlSeconds: 300 },
      { after: "message", messageIndex: 4, ttlSeconds: 300 },
    ],
  }),
};
