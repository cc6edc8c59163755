import type {
  FilePart,
  ImagePart,
  OpaquePart,
  Part,
  PartContent,
  ToolCallPart,
  ToolResultPart,
} from "../../domain/message.js";
import type { PromptTexts } from "../../domain/prompt-texts.js";
import { asWritten } from "../as-written.js";
import { BodyProblems, wordOf } from "../body-problems.js";
import {
  callArguments,
  familyOf,
  fileText,
  hasText,
  imageText,
  isTextType,
  mediaTypeOf,
  ownFields,
  type PairedCall,
  parseObject,
  resultText,
  type Step,
  systemText,
} from "../messages.js";
import type { JsonObject } from "../schema-dialect.js";
import type { ToolNames } from "../tool-names.js";
import { checkPart, fieldOf, isSignature } from "./parts.js";

export interface WrittenContent {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

/** The provider's own word for a call that it did not sign itself. */
const noSignature = "skip_thought_signature_validator";
const pictureTypes = ["image/png", "image/jpeg", "image/webp"];
const takenTypes: ReadonlySet<string> = new Set([
  ...pictureTypes,
  "image/heic",
  "image/heif",
  "application/pdf",
]);
const resultTypes: ReadonlySet<string> = new Set([...pictureTypes, "application/pdf", "text/plain"]);

/** Writes steps as contents of alternating roles. */
export class ContentsWriter {
  private readonly contents: WrittenContent[] = [];
  /** The model's parts since the user last spoke, and whether they are more than thoughts, and hold a call. */
  private pending: JsonObject[] = [];
  private hasSaid = false;
  private hasCalled = false;
  private readonly withoutId = new Set<ToolCallPart>();

  /** `isSigning`: the model demands signatures on calls, and takes media in results. */
  constructor(
    private readonly names: ToolNames,
    private readonly isSigning: boolean,
    private readonly texts: PromptTexts,
  ) {}

  add(step: Step): void {
    switch (step.role) {
      case "assistant":
        this.model(step);
        break;
      case "tool":
        this.results(step.calls);
        break;
      default:
        for (const { content } of step.parts) {
          const part = content && userPart(this.texts, content, step.role === "system");
          if (part !== undefined) this.say(part);
        }
    }
  }

  finish(): readonly WrittenContent[] {
    this.prompt();
    return this.contents;
  }

  /** A body ends with the user. */
  private prompt(): void {
    if (this.pending.length > 0) this.endModel();
    const last = this.contents.at(-1);
    if (last?.role !== "user")
      this.say({ text: last === undefined ? this.texts["body-nothing"] : this.texts["body-end"] });
  }

  private model({ parts, calls, prompted }: Extract<Step, { role: "assistant" }>): void {
    if (prompted && this.pending.length > 0) this.prompt();
    let nextCall = 0;
    for (const given of parts) {
      const { content } = given;
      if (content === undefined) continue;
      const isCall = content.$case === "toolCall";
      const own = ownFields(given, "google");
      const part = isCall ? this.callPart(calls[nextCall++]!, own) : modelPart(this.texts, content, own);
      if (part === undefined) continue;
      this.pending.push(part);
      this.hasSaid ||= isCall || (part.thought !== true && part.text !== "");
    }
  }

  /** The first call of a step must be signed, even where another provider's model made it. */
  private callPart({ call, id: given }: PairedCall, own: JsonObject = {}): JsonObject {
    const { id: noId, ...more } = own;
    // It came without an id, and its response goes without one, too.
    const id = noId === null ? undefined : given;
    if (id === undefined) this.withoutId.add(call);
    const functionCall = { id, name: this.names.of(call.name), args: callArguments(call) };
    const isFirst = !this.hasCalled;
    this.hasCalled = true;
    if (call.signature !== "" && isSignature(call.signature)) {
      return { functionCall, thoughtSignature: call.signature, ...more };
    }
    return isFirst && this.isSigning
      ? { functionCall, thoughtSignature: noSignature, ...more }
      : { functionCall, ...more };
  }

  /** All the responses, then the media that older models take only beside them. */
  private results(calls: readonly PairedCall[]): void {
    const beside: JsonObject[] = [];
    for (const { call, id, result } of calls) {
      const functionResponse: Record<string, unknown> = {
        ...(this.withoutId.has(call) ? {} : { id }),
        name: this.names.of(call.name),
        response: responseOf(this.texts, result),
      };
      const inside = this.mediaOf(result, beside);
      if (inside !== undefined) functionResponse.parts = inside;
      this.say({ functionResponse });
    }
    for (const media of beside) this.say(media);
  }

  /** The media that can stand within the response; the others are put beside it. */
  private mediaOf({ content }: ToolResultPart, beside: JsonObject[]): JsonObject[] | undefined {
    let inside: JsonObject[] | undefined;
    for (const { content: piece } of content) {
      if (piece === undefined || piece.$case === "text") continue;
      const media = userPart(this.texts, piece, false)!;
      if (!this.isSigning || !isForResults(media)) beside.push(media);
      else if (inside === undefined) inside = [media];
      else inside.push(media);
    }
    return inside;
  }

  private say(part: JsonObject): void {
    if (this.pending.length > 0) this.endModel();
    const last = this.contents.at(-1);
    if (last?.role === "user") last.parts.push(part);
    else this.contents.push({ role: "user", parts: [part] });
  }

  /** Writes what the model said, unless it was only thought. */
  private endModel(): void {
    const parts = this.pending;
    const hasSaid = this.hasSaid;
    this.pending = [];
    this.hasSaid = false;
    this.hasCalled = false;
    if (!hasSaid) return;
    if (this.contents.length === 0) this.say({ text: this.texts["body-start"] });
    this.contents.push({ role: "model", parts });
  }
}

function responseOf(texts: PromptTexts, result: ToolResultPart): JsonObject {
  const text = resultText(result);
  if (!result.isError) return { output: text };
  return { error: hasText(text) ? text : texts["body-failed-silently"] };
}

function isForResults({ inlineData }: JsonObject): boolean {
  return inlineData !== undefined && resultTypes.has(wordOf((inlineData as JsonObject).mimeType));
}

function userPart(texts: PromptTexts, content: PartContent, isSystem: boolean): JsonObject | undefined {
  switch (content.$case) {
    case "text": {
      const { text } = content.value;
      if (!hasText(text)) return undefined;
      return { text: isSystem ? systemText(texts, text) : text };
    }
    case "opaque":
      return opaquePart(content.value, "user");
    case "image":
      return mediaPart(content.value) ?? { text: imageText(texts, content.value) };
    case "file":
      return mediaPart(content.value) ?? { text: fileText(texts, content.value) };
    default:
      return undefined;
  }
}

/** Pictures and files of other models are named in words. */
function modelPart(
  texts: PromptTexts,
  content: PartContent,
  own: JsonObject | undefined,
): JsonObject | undefined {
  switch (content.$case) {
    case "text":
      return hasText(content.value.text) ? { text: content.value.text, ...partFields(own) } : undefined;
    case "thinking": {
      const { text, signature, provider } = content.value;
      if (familyOf(provider) !== "google") return undefined;
      const signed = isSignature(signature) ? { thoughtSignature: signature } : undefined;
      if (text === "") return signed && { text, ...signed };
      return { text, thought: true, ...signed };
    }
    case "opaque":
      return opaquePart(content.value, "model");
    case "image":
      return (own && madeMedia(content.value, own)) ?? { text: imageText(texts, content.value) };
    case "file":
      return (own && madeMedia(content.value, own)) ?? { text: fileText(texts, content.value) };
    default:
      return undefined;
  }
}

/** What goes back with a part: not what the whole candidate said. */
function partFields(own: JsonObject | undefined): JsonObject | undefined {
  if (own?.candidate === undefined) return own;
  const { candidate: _, ...fields } = own;
  return fields;
}

/** Media that the model made itself. */
function madeMedia({ source, mediaType }: ImagePart | FilePart, own: JsonObject): JsonObject | undefined {
  if (source?.$case !== "data") return undefined;
  return { inlineData: { mimeType: mediaType, data: source.value.toString("base64") }, ...own };
}

/** A part that the provider made, as it was; nothing where it is not one, or belongs to the pairs of calls. */
function opaquePart({ provider, data }: OpaquePart, role: WrittenContent["role"]): JsonObject | undefined {
  if (familyOf(provider) !== "google") return undefined;
  const text = data.toString("utf8");
  const read = parseObject(text);
  if (read === undefined) return undefined;
  const part = asWritten(read, text);
  if (fieldOf(part, "functionCall") !== undefined || fieldOf(part, "functionResponse") !== undefined) {
    return undefined;
  }
  const problems = new BodyProblems();
  checkPart(problems, part, "", role);
  return problems.found.length === 0 ? part : undefined;
}

/** What Gemini fetches: its own files and those of Cloud Storage, and what is on the web. */
function isFetched(uri: string): boolean {
  return /^(gs|https):\/\/[^\s/]/i.test(uri);
}

/** Whether an image or a file is sent as what it is, and not in words. */
export function takesMedia({ content }: Part): boolean {
  const isMedia = content?.$case === "image" || content?.$case === "file";
  return !isMedia || mediaPart(content.value) !== undefined;
}

function mediaPart(part: ImagePart | FilePart): JsonObject | undefined {
  const { source } = part;
  const type = mediaTypeOf(part);
  const isText = isTextType(type);
  const isTaken = isText || takenTypes.has(type) || /^(audio|video)\/[a-z0-9.+-]+$/.test(type);
  if (!isTaken || !source?.value.length) return undefined;
  const mimeType = isText ? "text/plain" : type;
  if (source.$case === "uri")
    return isFetched(source.value) ? { fileData: { mimeType, fileUri: source.value } } : undefined;
  return { inlineData: { mimeType, data: source.value.toString("base64") } };
}
