import type { FilePart, Part, PartContent, ToolCallPart } from "../../domain/message.js";
import { defaultPromptTexts, fill, type PromptTexts } from "../../domain/prompt-texts.js";
import {
  chatOrigin,
  hasText,
  imageText,
  ownFields,
  type PairedCall,
  pairedCalls,
  type Step,
} from "../messages.js";
import { chatCallId } from "../openai/call-id.js";
import {
  argumentsText,
  CacheMarks,
  cacheKeyOf,
  effortOf,
  fileInWords,
  holdsText,
  imageUrl,
  inlineFile,
  maxTokensOf,
  outputText,
  ownOpaque,
  pdfType,
  temperatureOf,
  uploadedId,
} from "../openai/content.js";
import { openaiParameters } from "../openai/schema.js";
import type { RenderedBody, RenderInput } from "../render-input.js";
import { serverToolText } from "../server-tools.js";
import { callIds, openaiToolName, ToolNames } from "../tool-names.js";
import { chatMostCalls, chatMostTools, chatPartProblems } from "./validator.js";

type ChatPart = { readonly [key: string]: unknown };

interface ChatMessage {
  readonly role: string;
  readonly tool_call_id?: string;
  content: string | ChatPart[] | null;
  readonly refusal?: string;
  readonly annotations?: unknown;
  readonly tool_calls?: readonly unknown[];
}

/**
 * A context for OpenAI's Chat Completions. The system prompt is a `system` message: every server that speaks this format
 * knows that role, and OpenAI's newer models read it as `developer`. Neighbours of the same role stay apart, so that a
 * new message never changes the bytes of the one before.
 */
export function renderOpenaiChat(input: RenderInput): RenderedBody {
  const names = new ToolNames(input.tools, openaiToolName);
  const { texts = defaultPromptTexts } = input;
  const conversation = new ChatConversation(names, new CacheMarks<ChatMessage>(input.breakpoints), texts);
  if (hasText(input.system)) conversation.add(-1, { role: "system", content: input.system });
  const steps = pairedCalls(input.messages, callIds(chatCallId), texts, "openai");
  for (const step of steps) conversation.addStep(step);
  const messages = conversation.finished();

  const body: Record<string, unknown> = { model: input.model };
  const effort = effortOf(input.thinking);
  if (effort !== undefined) body.reasoning_effort = effort;
  const temperature = temperatureOf(input);
  if (temperature !== undefined) body.temperature = temperature;
  const maxTokens = maxTokensOf(input, 1);
  if (maxTokens !== undefined) body.max_completion_tokens = maxTokens;
  const cacheKey = cacheKeyOf(input);
  if (cacheKey !== undefined) body.prompt_cache_key = cacheKey;
  if (conversation.isMarked) body.prompt_cache_options = { mode: "explicit" };
  if (names.declared.length > 0) {
    body.tools = names.declared.slice(0, chatMostTools).map((tool) => ({
      type: "function",
      function: {
        name: names.of(tool.name),
        ...(tool.description === "" ? {} : { description: tool.description }),
        parameters: openaiParameters(tool),
      },
    }));
  }
  body.messages = messages;
  return body;
}

/** What a server said of its calls besides, by call. */
type OwnCalls = Map<ToolCallPart, ChatPart | undefined>;

class ChatConversation {
  isMarked = false;
  private readonly messages: ChatMessage[] = [];

  constructor(
    private readonly names: ToolNames,
    private readonly marks: CacheMarks<ChatMessage>,
    private readonly texts: PromptTexts,
  ) {}

  add(index: number, message: ChatMessage): void {
    this.messages.push(message);
    if (message.role !== "assistant") this.marks.see(index, message);
  }

  addStep(step: Step): void {
    if (step.role === "tool") return;
    if (step.role === "assistant") {
      this.addAssistant(step);
      return;
    }
    const content = contentOf(this.texts, step.parts, step.role);
    if (content !== undefined) this.add(step.index, { role: step.role, content });
  }

  finished(): readonly ChatMessage[] {
    this.isMarked = this.marks.place(mark);
    if (this.messages.every(({ role }) => role === "system")) {
      this.messages.push({ role: "user", content: this.texts["body-nothing"] });
    }
    return this.messages;
  }

  /** What an assistant said and called, the answers to its calls, and then what only a user can show. */
  private addAssistant({ index, parts, calls }: Step & { readonly role: "assistant" }): void {
    const said: Part[] = [];
    const shown: ChatPart[] = [];
    const own: OwnCalls = new Map();
    const more: { refusal?: string; annotations?: unknown } = {};
    for (const part of parts) {
      const { content } = part;
      const kind = content?.$case;
      const fields = ownFields(part, chatOrigin);
      if (fields?.annotations !== undefined) more.annotations = fields.annotations;
      if (kind === "refusal" && hasText(content.value.text)) more.refusal = content.value.text;
      if (kind === "toolCall") own.set(content.value, fields);
      if (kind === "text" || kind === "opaque") said.push(part);
      else if (kind === "image" || kind === "file") {
        const text = fill(this.texts["body-assistant-media"], { kind: this.texts[`body-kind-${kind}`] });
        shown.push({ type: "text", text }, ...chatParts(this.texts, part, "user"));
      }
    }
    let content = contentOf(this.texts, said, "assistant") ?? null;
    for (let from = 0; from < calls.length; from += chatMostCalls) {
      const isFirst = from === 0;
      const head: ChatMessage = { role: "assistant", content, ...(isFirst ? more : {}) };
      this.addCalls(index, head, calls.slice(from, from + chatMostCalls), own);
      content = null;
    }
    if (calls.length === 0 && (content !== null || more.refusal !== undefined))
      this.add(index, { role: "assistant", content, ...more });
    if (shown.length > 0) this.add(index, { role: "user", content: shown });
  }

  private addCalls(index: number, head: ChatMessage, calls: readonly PairedCall[], own: OwnCalls): void {
    const toolCalls = calls.map((paired) => ({
      ...own.get(paired.call),
      id: paired.id,
      type: "function",
      function: { name: this.names.of(paired.call.name), arguments: argumentsText(paired) },
    }));
    this.add(index, { ...head, tool_calls: toolCalls });
    const shown: ChatPart[] = [];
    let shownIndex = index;
    for (const { id, call, result, resultIndex } of calls) {
      this.add(resultIndex, { role: "tool", tool_call_id: id, content: outputText(this.texts, result) });
      for (const { content: piece } of result.content) {
        if (piece === undefined || piece.$case === "text") continue;
        const { name } = call;
        const kind = this.texts[`body-kind-${piece.$case}`];
        const title = fill(this.texts["body-result-media"], { kind, name, id });
        shown.push({ type: "text", text: title }, ...chatParts(this.texts, { content: piece }, "user"));
        shownIndex = Math.max(shownIndex, resultIndex);
      }
    }
    if (shown.length > 0) this.add(shownIndex, { role: "user", content: shown });
  }
}

/** A single text as a string; undefined for nothing that could be sent. */
function contentOf(
  texts: PromptTexts,
  parts: readonly Part[],
  role: string,
): string | ChatPart[] | undefined {
  if (parts.length === 1) {
    const only = parts[0]!.content;
    if (only?.$case === "text") return hasText(only.value.text) ? only.value.text : undefined;
  }
  const content: ChatPart[] = [];
  for (const part of parts) content.push(...chatParts(texts, part, role));
  if (content.length === 0) return undefined;
  const only = content[0]!;
  return content.length === 1 && only.type === "text" ? (only.text as string) : content;
}

function chatParts(texts: PromptTexts, { content }: Part, role: string): readonly ChatPart[] {
  switch (content?.$case) {
    case "text":
      return hasText(content.value.text) ? [{ type: "text", text: content.value.text }] : [];
    case "image": {
      const url = role === "user" ? imageUrl(content.value) : undefined;
      return [
        url
          ? { type: "image_url", image_url: { url } }
          : { type: "text", text: imageText(texts, content.value) },
      ];
    }
    case "file":
      return [chatFile(texts, content.value, role)];
    case "opaque":
      return ownPart(texts, content, role);
    default:
      return [];
  }
}

/** Whether an image or a file is sent as what it is, or as the text that it holds. */
export function takesMedia({ content }: Part): boolean {
  if (content?.$case === "image") return imageUrl(content.value) !== undefined;
  if (content?.$case !== "file") return true;
  const isKnown = uploadedId(content.value) !== undefined || holdsText(content.value);
  return isKnown || inlineFile(content.value, (type) => type === pdfType) !== undefined;
}

/** Chat takes the bytes of PDFs, and what was uploaded before. */
function chatFile(texts: PromptTexts, file: FilePart, role: string): ChatPart {
  if (role === "user") {
    const id = uploadedId(file);
    if (id !== undefined) return { type: "file", file: { file_id: id } };
    const inline = inlineFile(file, (type) => type === pdfType);
    if (inline) return { type: "file", file: inline };
  }
  return { type: "text", text: fileInWords(texts, file) };
}

function ownPart(
  texts: PromptTexts,
  content: PartContent & { readonly $case: "opaque" },
  role: string,
): readonly ChatPart[] {
  if (content.value.kind === "reasoning") return [];
  // What the Responses' own tools did has no place here but in words.
  const text = serverToolText(texts, content.value);
  if (text !== undefined) return [{ type: "text", text }];
  const own = ownOpaque(content);
  return own && chatPartProblems(own, role).length === 0 ? [own] : [];
}

function mark(message: ChatMessage): void {
  const parts =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : (message.content ?? []);
  const last = parts.pop();
  if (last === undefined) return;
  message.content = [...parts, { ...last, prompt_cache_breakpoint: { mode: "explicit" } }];
}
