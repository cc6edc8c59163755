import { maxJsonDepth, scanJson } from "../domain/json-scan.js";
import { JsonProblem, type JsonSlice } from "../domain/json-slice.js";
import type { Part, PartContent } from "../domain/message.js";
import type { TokenUsage } from "../domain/turn.js";
import type { Family } from "./part-words.js";

/** What a provider answered, as parts of one message. */
export interface ReadResponse {
  /** At least one. A call that the provider gave no id has an empty one. */
  readonly parts: readonly Part[];
  /** Which of the parts are calls that were cut off. */
  readonly cutOff: readonly number[];
  readonly stopReason: string;
  readonly usage: TokenUsage | undefined;
  readonly model: string;
  /** How many other answers the response has. */
  readonly others: number;
  /** Whether the provider ran tools of its own: its usage then counts more than the context that it was sent. */
  readonly ranTools: boolean;
}

/** As the contract has it for messages that are given as such. */
const maxTextBytes = 4 * 1024 * 1024;
const maxRefusalBytes = 64 * 1024;
const maxProviderBytes = 1024 * 1024;
const maxOpaqueBytes = 2 * 1024 * 1024;
const maxMediaBytes = 1024 * 1024;
const maxNameLength = 256;
export const maxParts = 1_024;

/** Collects the parts of an answer, and refuses what no message could hold. */
export class AnswerParts {
  readonly parts: Part[] = [];
  readonly cutOff: number[] = [];
  ranTools = false;
  private hasJoined = false;

  constructor(
    readonly provider: Family,
    /** Whose fields the parts carry besides: the provider, or one of its formats. */
    private readonly origin: string,
  ) {}

  text(at: JsonSlice, more?: string): void {
    const text = bounded(at, at.string(), maxTextBytes);
    this.add({ $case: "text", value: { text } }, more);
  }

  thinking(at: JsonSlice, text: string, signature: string, more?: string): void {
    bounded(at, text, maxTextBytes);
    bounded(at, signature, maxProviderBytes);
    this.add({ $case: "thinking", value: { text, signature, provider: this.provider } }, more);
  }

  /** Goes on with the text before. */
  longerText(at: JsonSlice): void {
    this.longer(at, "text");
  }

  longerThinking(at: JsonSlice): void {
    this.longer(at, "thinking");
  }

  call(
    at: JsonSlice,
    call: {
      readonly id: string;
      readonly name: string;
      readonly argumentsJson: string;
      readonly signature?: string;
    },
    { isCutOff = false, more }: { readonly isCutOff?: boolean; readonly more?: string | undefined } = {},
  ): void {
    named(at, "id", call.id);
    if (call.name === "") throw at.wrong("calls a tool without a name");
    named(at, "name", call.name);
    bounded(at, call.argumentsJson, maxTextBytes);
    bounded(at, call.signature ?? "", maxProviderBytes);
    if (scanJson(call.argumentsJson, maxJsonDepth) === "too deep")
      throw at.wrong(`has arguments that are nested more than ${maxJsonDepth} levels deep`);
    if (isCutOff) this.cutOff.push(this.parts.length);
    const { name, argumentsJson, signature = "" } = call;
    this.add({ $case: "toolCall", value: { callId: call.id, name, argumentsJson, signature } }, more);
  }

  /** Anything else, as it is written. */
  opaque(at: JsonSlice, kind: string): void {
    const data = Buffer.from(at.raw);
    if (data.length > maxOpaqueBytes) throw at.wrong(`has more than ${size(maxOpaqueBytes)}`);
    this.add({ $case: "opaque", value: { provider: this.provider, kind: printable(kind, 128), data } });
  }

  /** Bytes that the model made, given as base64. */
  media(at: JsonSlice, base64: JsonSlice, mediaType: string, more?: string): void {
    const tooLarge = () => base64.wrong(`is media above ${size(maxMediaBytes)}`);
    const text = base64.string();
    if (text.length > 2 * maxMediaBytes) throw tooLarge();
    const data = Buffer.from(text, "base64");
    if (data.length > maxMediaBytes) throw tooLarge();
    if (data.length === 0) throw base64.wrong("must be base64");
    named(at, "media type", mediaType);
    const source = { $case: "data", value: data } as const;
    if (mediaType.startsWith("image/")) this.add({ $case: "image", value: { source, mediaType } }, more);
    else this.add({ $case: "file", value: { source, mediaType, name: "" } }, more);
  }

  refusal(text: string, reason: string, more?: string): void {
    const cut = Buffer.byteLength(text) <= maxRefusalBytes ? text : text.slice(0, maxRefusalBytes / 4);
    const value = {
      text: cut.replace(/\p{Cs}/gu, ""),
      reason: printable(reason, maxNameLength),
      provider: this.provider,
    };
    this.add({ $case: "refusal", value }, more);
  }

  /** With nothing in it, an answer says why there is nothing. */
  read(rest: Omit<ReadResponse, "parts" | "cutOff" | "ranTools">, why = ""): ReadResponse {
    if (this.parts.length === 0) this.refusal(why, rest.stopReason || "empty");
    this.requireBounds();
    const stopReason = printable(rest.stopReason, maxNameLength);
    const model = printable(rest.model, maxNameLength);
    const { parts, cutOff, ranTools } = this;
    return { ...rest, stopReason, model, parts, cutOff, ranTools };
  }

  private requireBounds(): void {
    if (this.parts.length > maxParts) throw new JsonProblem("", `has more than ${maxParts} parts`);
    if (!this.hasJoined) return;
    for (const { content } of this.parts) {
      const text = content?.$case === "text" || content?.$case === "thinking" ? content.value.text : "";
      if (Buffer.byteLength(text) > maxTextBytes)
        throw new JsonProblem("", `has a text of more than ${size(maxTextBytes)}`);
    }
  }

  private longer(at: JsonSlice, kind: "text" | "thinking"): void {
    const last = this.parts.pop()!;
    const { content } = last;
    if (content?.$case !== kind) throw at.wrong("goes on with nothing");
    const text = content.value.text + at.string();
    // What it is in bytes is looked at once, at the end.
    if (text.length > maxTextBytes) throw at.wrong(`has more than ${size(maxTextBytes)}`);
    this.hasJoined = true;
    this.parts.push({ ...last, content: { ...content, value: { ...content.value, text } } as PartContent });
  }

  private add(content: PartContent, more?: string): void {
    this.parts.push(
      more === undefined ? { content } : { content, provider: this.origin, providerJson: more },
    );
  }
}

/** The fields of an object besides the named ones, as a JSON object; undefined for none. */
export function otherFields(at: JsonSlice, known: ReadonlySet<string>): string | undefined {
  return objectOf(
    at,
    [...at.fields()].filter(([name]) => !known.has(name)),
  );
}

/** A JSON object of these fields as they are written; undefined for none. */
export function objectOf(
  at: JsonSlice,
  fields: readonly (readonly [name: string, value: JsonSlice | string])[],
): string | undefined {
  if (fields.length === 0) return undefined;
  const written = fields.map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === "string" ? value : value.raw}`,
  );
  const json = bounded(at, `{${written.join(",")}}`, maxProviderBytes);
  if (scanJson(json, maxJsonDepth) === "too deep")
    throw at.wrong(`is nested more than ${maxJsonDepth} levels deep`);
  return json;
}

function bounded(at: JsonSlice, text: string, maxBytes: number): string {
  const isSmall = text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
  if (!isSmall) throw at.wrong(`has more than ${size(maxBytes)}`);
  return text;
}

function named(at: JsonSlice, what: string, name: string): void {
  if (name.length > maxNameLength || /\p{Cc}/u.test(name))
    throw at.wrong(`has a ${what} of more than ${maxNameLength} characters, or with control characters`);
}

/** A provider's word as it can be kept. */
function printable(word: string, maxLength: number): string {
  return word.replace(/[\p{Cc}\p{Cs}]/gu, "").slice(0, maxLength);
}

function size(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}
