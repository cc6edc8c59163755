import {
  type Message,
  MessageRole,
  type Part,
  type ToolResultContent,
} from "../../src/contract/gen/quire/v1/message.js";
import { textPart, Writer } from "./random-messages.js";

const providers = ["anthropic", "openai", "google", "gemini", "vertex", "acme"];
const uris = ["https://example.com/harbour.png", "http://example.com/b", "gs://bucket/c.pdf", "data:,x"];
const mediaTypes = [
  "image/png",
  "image/bmp",
  "application/pdf",
  "text/plain",
  "application/json",
  "video/mp4",
  "",
];
const opaqueTexts = [
  "raw",
  '{"type": "redacted_thinking", "data": "ZGF0YQ=="}',
  '{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}',
  '{"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}',
  '{"executableCode": {"language": "PYTHON", "code": "1"}}',
  '{"type": "tool_use", "id": "call-1", "name": "search", "input": {}}',
];
const names = ["search", "wallet/cards.list", "7up", "n".repeat(90)];

/** Writes messages with all that a message can hold: images, files, thinking, what only one provider reads, empty texts, odd names. */
export class RichWriter extends Writer {
  override message(role: MessageRole, parts: readonly Part[]): Message {
    const message = super.message(role, parts);
    const { random } = this;
    const more: Part[] = [];
    if (role === MessageRole.ASSISTANT && random.chance(0.4)) more.push(this.#thinking());
    if (random.chance(0.15)) more.push(this.#opaque());
    if (random.chance(0.2)) more.push({ content: this.#media() });
    if (random.chance(0.1)) more.push(textPart(random.pick(["", " \n"])));
    const all = random.chance(0.5) ? [...more, ...message.parts] : [...message.parts, ...more];
    return { ...message, parts: all.map((part) => this.#renamed(part)) };
  }

  override answers(count: number): Message[] {
    return super.answers(count).map((message) => ({
      ...message,
      parts: message.parts.map((part) => this.#richResult(part)),
    }));
  }

  #thinking(): Part {
    const signature = this.random.pick(["", "c2lnbmF0dXJl"]);
    const text = this.random.chance(0.1) ? "" : this.text(20);
    const provider = this.random.pick(providers);
    return { content: { $case: "thinking", value: { text, signature, provider } } };
  }

  #opaque(): Part {
    const data = Buffer.from(this.random.pick(opaqueTexts));
    return {
      content: { $case: "opaque", value: { provider: this.random.pick(providers), kind: "item", data } },
    };
  }

  #media(): NonNullable<ToolResultContent["content"]> {
    const { random } = this;
    const source = random.chance(0.5)
      ? { $case: "uri" as const, value: random.pick(uris) }
      : { $case: "data" as const, value: Buffer.from("not really a picture") };
    const mediaType = random.pick(mediaTypes) || (source.$case === "uri" ? "" : "image/webp");
    return random.chance(0.5)
      ? { $case: "image", value: { source, mediaType } }
      : { $case: "file", value: { source, mediaType, name: random.pick(["", "ticket.pdf"]) } };
  }

  #renamed(part: Part): Part {
    if (part.content?.$case !== "toolCall" || !this.random.chance(0.3)) return part;
    return {
      content: { $case: "toolCall", value: { ...part.content.value, name: this.random.pick(names) } },
    };
  }

  #richResult(part: Part): Part {
    if (part.content?.$case !== "toolResult") return part;
    const { value } = part.content;
    const content = this.random.chance(0.1) ? [] : [...value.content];
    if (this.random.chance(0.2)) content.push({ content: this.#media() });
    return { content: { $case: "toolResult", value: { ...value, content } } };
  }
}
