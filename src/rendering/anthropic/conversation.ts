import type {
  FilePart,
  ImagePart,
  OpaquePart,
  Part,
  PartContent,
  ToolResultPart,
} from "../../domain/message.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import { asWritten } from "../as-written.js";
import { BodyProblems } from "../body-problems.js";
import {
  callArguments,
  cut,
  familyOf,
  fileText,
  hasText,
  imageText,
  isTextType,
  mediaTypeOf,
  ownFields,
  parseObject,
  type Step,
  systemText,
} from "../messages.js";
import type { ToolNames } from "../tool-names.js";
import {
  anthropicImageTypes,
  type BlockPlace,
  checkBlock,
  isHttps,
  isServerCall,
  isServerResult,
  isThinking,
} from "./blocks.js";

/** A content block, still open to a marker. */
export type Block = Record<string, unknown>;

export interface WrittenMessage {
  readonly role: "user" | "assistant";
  readonly content: Block[];
}

/** Writes steps as messages of alternating roles. */
export class ConversationWriter {
  private readonly messages: WrittenMessage[] = [];
  /** Every block in order, and the message that it was made from. */
  private readonly blocks: Block[] = [];
  private readonly origins: number[] = [];
  /** The assistant's blocks since the user last spoke. */
  private pending: Block[] = [];
  private pendingOrigins: number[] = [];
  private hasOpaque = false;

  constructor(
    private readonly names: ToolNames,
    private readonly texts: PromptTexts,
  ) {}

  add(step: Step): void {
    switch (step.role) {
      case "assistant":
        this.assistant(step);
        break;
      case "tool":
        for (const { id, result, resultIndex } of step.calls)
          this.say(resultBlock(this.texts, id, result), resultIndex);
        break;
      default:
        for (const { content } of step.parts) {
          const block = content && userBlock(this.texts, content, step.role === "system");
          if (block !== undefined) this.say(block, step.index);
        }
    }
  }

  finish(): readonly WrittenMessage[] {
    const isPaused = this.isPaused();
    if (this.pending.length > 0) this.endAssistant(isPaused);
    if (!isPaused) this.prompt(Number.POSITIVE_INFINITY);
    return this.messages;
  }

  /** Whether the provider paused while a tool of its own ran: it goes on from there. */
  private isPaused(): boolean {
    return isServerCall(this.pending.at(-1)?.type);
  }

  /** A body ends with the user. */
  private prompt(origin: number): void {
    const last = this.messages.at(-1);
    if (last?.role === "user") return;
    this.say(textBlock(last === undefined ? this.texts["body-nothing"] : this.texts["body-end"]), origin);
  }

  /** The last block of the messages up to this one that can carry a marker. */
  markableAfter(messageIndex: number): Block | undefined {
    let at = this.blocks.length - 1;
    while (at >= 0 && this.origins[at]! > messageIndex) at--;
    while (at >= 0 && !markable.has(this.blocks[at]!.type)) at--;
    return this.blocks[at];
  }

  private assistant({ parts, calls, index, prompted }: Extract<Step, { role: "assistant" }>): void {
    if (prompted && this.pending.length > 0 && !this.isPaused()) {
      this.endAssistant();
      this.prompt(index);
    }
    let nextCall = 0;
    for (const part of parts) {
      const { content } = part;
      if (content === undefined) continue;
      let block: Block | undefined;
      if (content.$case === "toolCall") {
        const { call, id } = calls[nextCall++]!;
        block = { type: "tool_use", id, name: this.names.of(call.name), input: callArguments(call) };
      } else block = assistantBlock(this.texts, content);
      if (block !== undefined) Object.assign(block, ownFields(part, "anthropic"));
      if (block === undefined) continue;
      this.pending.push(block);
      this.pendingOrigins.push(index);
      this.hasOpaque ||= content.$case === "opaque";
    }
  }

  private say(block: Block, origin: number): void {
    if (this.pending.length > 0) this.endAssistant();
    const last = this.messages.at(-1);
    if (last?.role === "user") last.content.push(block);
    else this.messages.push({ role: "user", content: [block] });
    this.blocks.push(block);
    this.origins.push(origin);
  }

  /** Writes what the assistant said, without what the API refuses there: thinking at the end, halves of server calls. */
  private endAssistant(isPaused = false): void {
    let content = this.pending;
    let origins = this.pendingOrigins;
    this.pending = [];
    this.pendingOrigins = [];
    if (this.hasOpaque) {
      const halves = halvesOf(isPaused ? content.slice(0, -1) : content);
      origins = origins.filter((_, at) => !halves.has(content[at]!));
      content = content.filter((block) => !halves.has(block));
      this.hasOpaque = false;
    }
    while (content.length > 0 && isThinking(content.at(-1)!.type)) content.pop();
    if (content.length === 0) return;
    if (this.messages.length === 0) this.say(textBlock(this.texts["body-start"]), origins[0]!);
    this.messages.push({ role: "assistant", content });
    for (let at = 0; at < content.length; at++) {
      this.blocks.push(content[at]!);
      this.origins.push(origins[at]!);
    }
  }
}

const markable: ReadonlySet<unknown> = new Set(["text", "image", "document", "tool_use", "tool_result"]);

function textBlock(text: string): Block {
  return { type: "text", text };
}

function userBlock(texts: PromptTexts, content: PartContent, isSystem: boolean): Block | undefined {
  switch (content.$case) {
    case "text": {
      const { text } = content.value;
      if (!hasText(text)) return undefined;
      return textBlock(isSystem ? systemText(texts, text) : text);
    }
    case "opaque":
      return opaqueBlock(content.value, "user");
    case "image":
      return imageBlock(content.value) ?? textBlock(imageText(texts, content.value));
    case "file":
      return fileBlock(content.value) ?? textBlock(fileText(texts, content.value));
    default:
      return undefined;
  }
}

/** Pictures and files are the user's only; the assistant's are named in words. */
function assistantBlock(texts: PromptTexts, content: PartContent): Block | undefined {
  switch (content.$case) {
    case "text":
      return hasText(content.value.text) ? textBlock(content.value.text) : undefined;
    case "thinking": {
      const { text, signature, provider } = content.value;
      if (signature === "" || familyOf(provider) !== "anthropic") return undefined;
      return { type: "thinking", thinking: text, signature };
    }
    case "opaque":
      return opaqueBlock(content.value, "assistant");
    case "image":
      return textBlock(imageText(texts, content.value));
    case "file":
      return textBlock(fileText(texts, content.value));
    default:
      return undefined;
  }
}

/** A block that the provider made, as it was; nothing where it is not one, or belongs to the pairs of calls. */
function opaqueBlock({ provider, kind, data }: OpaquePart, place: BlockPlace): Block | undefined {
  if (familyOf(provider) !== "anthropic") return undefined;
  const text = data.toString("utf8");
  const isRedacted = kind === "redacted_thinking" && place === "assistant";
  const parsed = parseObject(text) ?? (isRedacted ? { type: "redacted_thinking", data: text } : undefined);
  if (parsed === undefined || parsed.type === "tool_use" || parsed.type === "tool_result") return undefined;
  const block = parsed.cache_control === undefined ? asWritten(parsed, text) : withoutMarker(parsed);
  const problems = new BodyProblems();
  checkBlock(problems, block, "", place);
  return problems.found.length === 0 ? block : undefined;
}

function withoutMarker({ cache_control: _, ...block }: Block): Block {
  return block;
}

function resultBlock(texts: PromptTexts, id: string, { content, isError }: ToolResultPart): Block {
  const block: Block = { type: "tool_result", tool_use_id: id };
  const only = content.length === 1 ? content[0]!.content : undefined;
  if (only?.$case === "text") {
    if (hasText(only.value.text)) block.content = only.value.text;
  } else {
    const blocks: Block[] = [];
    for (const { content: piece } of content) {
      const inner = piece && userBlock(texts, piece, false);
      if (inner !== undefined) blocks.push(inner);
    }
    if (blocks.length > 0) block.content = blocks;
  }
  if (isError) {
    block.content ??= texts["body-failed-silently"];
    block.is_error = true;
  }
  return block;
}

/** What was uploaded to Anthropic before. */
function uploaded({ source }: ImagePart | FilePart): Block | undefined {
  const [, id] = (source?.$case === "uri" && /^anthropic-file:(.+)$/s.exec(source.value)) || [];
  return id === undefined ? undefined : { type: "file", file_id: id };
}

/** Whether an image or a file is sent as what it is, and not in words. */
export function takesMedia({ content }: Part): boolean {
  if (content?.$case === "image") return imageBlock(content.value) !== undefined;
  return content?.$case !== "file" || fileBlock(content.value) !== undefined;
}

function imageBlock(part: ImagePart | FilePart): Block | undefined {
  const { source } = part;
  const mediaType = mediaTypeOf(part);
  const isKnown = anthropicImageTypes.has(mediaType);
  const own = uploaded(part);
  if (own) return { type: "image", source: own };
  if (source?.$case === "uri") {
    if (!isHttps(source.value) || (mediaType !== "" && !isKnown)) return undefined;
    return { type: "image", source: { type: "url", url: source.value } };
  }
  if (!source?.value.length || !isKnown) return undefined;
  const data = source.value.toString("base64");
  return { type: "image", source: { type: "base64", media_type: mediaType, data } };
}

function fileBlock(part: FilePart): Block | undefined {
  const mediaType = mediaTypeOf(part);
  if (anthropicImageTypes.has(mediaType)) return imageBlock(part);
  const source = documentSource(part, mediaType);
  if (source === undefined) return undefined;
  return part.name === ""
    ? { type: "document", source }
    : { type: "document", source, title: cut(part.name, 500) };
}

function documentSource(part: FilePart, mediaType: string): Block | undefined {
  const { source } = part;
  const own = uploaded(part);
  if (own) return own;
  const isPdf = mediaType === "application/pdf";
  if (source?.$case === "uri") {
    return isPdf && isHttps(source.value) ? { type: "url", url: source.value } : undefined;
  }
  if (!source?.value.length) return undefined;
  if (isPdf) return { type: "base64", media_type: mediaType, data: source.value.toString("base64") };
  if (!isTextType(mediaType)) return undefined;
  const data = source.value.toString("utf8");
  return hasText(data) ? { type: "text", media_type: "text/plain", data } : undefined;
}

/** Calls of the provider's own tools without their results, and results without their calls. */
function halvesOf(blocks: readonly Block[]): ReadonlySet<Block> {
  const open = new Map<unknown, Block>();
  const halves = new Set<Block>();
  for (const block of blocks) {
    if (isServerCall(block.type)) {
      const same = open.get(block.id);
      if (same !== undefined) halves.add(same);
      open.set(block.id, block);
    } else if (isServerResult(block.type) && !open.delete(block.tool_use_id)) halves.add(block);
  }
  for (const block of open.values()) halves.add(block);
  return halves;
}
