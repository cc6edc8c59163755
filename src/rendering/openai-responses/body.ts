import type { PartContent, ThinkingPart } from "../../domain/message.js";
import { defaultPromptTexts, fill, type PromptTexts } from "../../domain/prompt-texts.js";
import {
  familyOf,
  hasText,
  ownFields,
  type PairedCall,
  pairedCalls,
  responsesOrigin,
  type Step,
} from "../messages.js";
import { responsesCallId } from "../openai/call-id.js";
import {
  argumentsText,
  CacheMarks,
  cacheKeyOf,
  effortOf,
  maxTokensOf,
  ownOpaque,
  temperatureOf,
} from "../openai/content.js";
import { openaiParameters } from "../openai/schema.js";
import type { RenderedBody, RenderInput } from "../render-input.js";
import { isObject, type JsonObject } from "../schema-dialect.js";
import { callIds, openaiToolName, ToolNames } from "../tool-names.js";
import { type Carrier, contentOf, inputParts, mark, outputOf } from "./content.js";
import { itemProblems, leastOutputTokens, standsAlone } from "./validator.js";

/**
 * A context for OpenAI's Responses. Nothing is kept there (`store: false`), so reasoning goes back encrypted. The system
 * prompt is `instructions`, which cannot carry a mark for the cache: where one is asked for, it is the first message of
 * the input. Neighbours of the same role stay apart, so that a new message never changes the bytes of the one before.
 */
export function renderOpenaiResponses(input: RenderInput): RenderedBody {
  const names = new ToolNames(input.tools, openaiToolName);
  const marks = new CacheMarks<Carrier>(input.breakpoints);
  const { texts = defaultPromptTexts } = input;
  const conversation = new Conversation(names, marks, texts);
  const instructed = hasText(input.system) && !marks.ofSystem;
  if (hasText(input.system) && !instructed) {
    conversation.add(-1, { role: "developer", content: input.system });
  }
  for (const step of pairedCalls(input.messages, callIds(responsesCallId), texts, "openai"))
    conversation.addStep(step);
  const items = conversation.finished();

  const body: Record<string, unknown> = { model: input.model, store: false };
  const effort = effortOf(input.thinking);
  if (effort !== undefined) {
    body.include = ["reasoning.encrypted_content"];
    body.reasoning = { effort };
  }
  const temperature = temperatureOf(input);
  if (temperature !== undefined) body.temperature = temperature;
  const maxTokens = maxTokensOf(input, leastOutputTokens);
  if (maxTokens !== undefined) body.max_output_tokens = maxTokens;
  const cacheKey = cacheKeyOf(input);
  if (cacheKey !== undefined) body.prompt_cache_key = cacheKey;
  if (conversation.isMarked) body.prompt_cache_options = { mode: "explicit" };
  if (names.declared.length > 0) {
    body.tools = names.declared.map((tool) => ({
      type: "function",
      name: names.of(tool.name),
      ...(tool.description === "" ? {} : { description: tool.description }),
      parameters: openaiParameters(tool),
      // Left out, it would be true here, and most schemas are not strict.
      strict: false,
    }));
  }
  if (instructed) body.instructions = input.system;
  body.input = items;
  return body;
}

class Conversation {
  isMarked = false;
  private readonly items: unknown[] = [];
  private readonly ids = new Set<unknown>();
  private hasMessage = false;

  constructor(
    private readonly names: ToolNames,
    private readonly marks: CacheMarks<Carrier>,
    private readonly words: PromptTexts,
  ) {}

  add(index: number, item: Carrier): void {
    this.items.push(item);
    this.hasMessage ||= index >= 0;
    this.marks.see(index, item);
  }

  addStep(step: Step): void {
    if (step.role === "tool") return;
    if (step.role === "assistant") {
      this.addAssistant(step);
      return;
    }
    const role = step.role === "system" ? "developer" : "user";
    const content = contentOf(this.words, step.parts, role);
    if (content !== undefined) this.add(step.index, { role, content });
  }

  finished(): readonly unknown[] {
    this.isMarked = this.marks.place(mark);
    if (!this.hasMessage) this.items.push({ role: "user", content: this.words["body-nothing"] });
    return this.items;
  }

  /** What an assistant made, the outputs of its calls, and then what only a user can show. */
  private addAssistant({ index, parts, calls }: Step & { readonly role: "assistant" }): void {
    const shown: JsonObject[] = [];
    let thoughts: JsonObject[] = [];
    let said = new Said();
    let called = 0;
    const endText = () => {
      const message = said.message();
      if (message !== undefined) this.push(this.withNewId(message));
      said = new Said();
    };
    for (const part of parts) {
      const { content } = part;
      if (content === undefined) continue;
      const thought = thoughtItem(content);
      if (thought !== undefined) {
        if (this.isNew(thought)) thoughts.push(thought);
        continue;
      }
      const own = ownFields(part, responsesOrigin);
      const item =
        content.$case === "toolCall" ? this.callItem(calls[called++]!, own) : this.standingItem(content);
      const text = saidPart(content);
      if (item !== undefined || text !== undefined) {
        if (item !== undefined || thoughts.length > 0 || !said.takes(own)) endText();
        for (const before of thoughts) this.push(before);
      }
      // Reasoning stays with what it led to: it goes where that goes.
      if (followsReasoning(content)) thoughts = [];
      if (item !== undefined) this.push(item);
      if (text !== undefined) said.add(text, own);
      if (content.$case === "image" || content.$case === "file") {
        const kind = this.words[`body-kind-${content.$case}`];
        const named = fill(this.words["body-assistant-media"], { kind });
        const title = { type: "input_text", text: named };
        shown.push(title, ...inputParts(this.words, content, "user"));
      }
    }
    endText();
    for (const { id, result, resultIndex } of calls) {
      this.add(resultIndex, {
        type: "function_call_output",
        call_id: id,
        output: outputOf(this.words, result),
      });
    }
    if (shown.length > 0) this.add(index, { role: "user", content: shown });
  }

  private callItem(paired: PairedCall, own: JsonObject = {}): JsonObject {
    return this.withNewId({
      type: "function_call",
      ...own,
      call_id: paired.id,
      name: this.names.of(paired.call.name),
      arguments: argumentsText(paired),
    });
  }

  /** The item, without its id where another item of the body has that already. */
  private withNewId(item: JsonObject): JsonObject {
    if (this.isNew(item)) return item;
    const { id: _, ...rest } = item;
    return rest;
  }

  /** What OpenAI made besides words and calls, such as a web search, unchanged. */
  private standingItem(content: PartContent): JsonObject | undefined {
    if (content.$case !== "opaque" || content.value.kind === "reasoning") return undefined;
    const own = ownOpaque(content);
    if (own === undefined || !standsAlone(own) || itemProblems(own).length > 0) return undefined;
    return this.isNew(own) ? own : undefined;
  }

  /** OpenAI refuses a body with the same item twice. */
  private isNew({ id }: JsonObject): boolean {
    if (id === undefined) return true;
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    return true;
  }

  private push(item: JsonObject): void {
    this.items.push(item);
    this.hasMessage = true;
  }
}

/** Whether reasoning before can have led to it: what another family left here says nothing of that. */
function followsReasoning(content: PartContent): boolean {
  const { $case: kind } = content;
  if (kind === "opaque") return familyOf(content.value.provider) === "openai";
  return ["text", "refusal", "image", "file", "toolCall"].includes(kind);
}

/** Reasoning as OpenAI gave it; undefined for what is not OpenAI's or cannot be read again. */
function thoughtItem(content: PartContent): JsonObject | undefined {
  if (content.$case === "thinking") return signedThought(content.value);
  if (content.$case !== "opaque" || content.value.kind !== "reasoning") return undefined;
  const own = ownOpaque(content);
  return own?.type === "reasoning" && itemProblems(own).length === 0 ? own : undefined;
}

function signedThought({ provider, signature, text }: ThinkingPart): JsonObject | undefined {
  if (signature === "" || familyOf(provider) !== "openai") return undefined;
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  return { type: "reasoning", summary, encrypted_content: signature };
}

/** What an assistant said, as a part of its message. */
function saidPart(content: PartContent): JsonObject | undefined {
  if (content.$case === "text" && hasText(content.value.text)) {
    return { type: "output_text", text: content.value.text };
  }
  if (content.$case === "refusal" && hasText(content.value.text)) {
    return { type: "refusal", refusal: content.value.text };
  }
  return undefined;
}

/** One message of the assistant, with the fields of the item that it was, if OpenAI made it. */
class Said {
  private readonly parts: JsonObject[] = [];
  private head: JsonObject | undefined;

  /** Whether the next part stands in the same message. */
  takes(own: JsonObject | undefined): boolean {
    if (this.parts.length === 0) return true;
    return own?.message === undefined && (own !== undefined) === (this.head !== undefined);
  }

  add(part: JsonObject, own: JsonObject | undefined): void {
    const { message, ...fields } = own ?? {};
    if (this.parts.length === 0 && own !== undefined) this.head = isObject(message) ? message : {};
    this.parts.push({ ...part, ...fields });
  }

  message(): JsonObject | undefined {
    const { parts, head } = this;
    if (parts.length === 0) return undefined;
    if (head !== undefined) return { type: "message", ...head, role: "assistant", content: parts };
    const only = parts.length === 1 && parts[0]!.type === "output_text" ? parts[0] : undefined;
    return { role: "assistant", content: only ? only.text : parts };
  }
}
