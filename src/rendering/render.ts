import { maxBodyDepth, scanJson } from "../domain/json-scan.js";
import type { Tool } from "../domain/workspace.js";
import { renderAnthropic } from "./anthropic/body.js";
import { validateAnthropic } from "./anthropic/validator.js";
import { writeJson } from "./as-written.js";
import { renderGemini } from "./gemini/body.js";
import { validateGemini } from "./gemini/validator.js";
import { type Family, familyOf } from "./messages.js";
import { renderOpenaiChat } from "./openai-chat/body.js";
import { validateOpenaiChat } from "./openai-chat/validator.js";
import { renderOpenaiResponses } from "./openai-responses/body.js";
import { validateOpenaiResponses } from "./openai-responses/validator.js";
import type { BodyFormat, BodyProblem, RenderedBody, RenderInput } from "./render-input.js";
import { anthropicToolName, geminiToolName, type NameRule, openaiToolName, ToolNames } from "./tool-names.js";

export { type Family, familyOf };

const formats: Readonly<
  Record<
    BodyFormat,
    {
      readonly render: (input: RenderInput) => RenderedBody;
      readonly validate: (body: unknown) => BodyProblem[];
      readonly toolName: NameRule;
    }
  >
> = {
  anthropic: { render: renderAnthropic, validate: validateAnthropic, toolName: anthropicToolName },
  "openai-responses": {
    render: renderOpenaiResponses,
    validate: validateOpenaiResponses,
    toolName: openaiToolName,
  },
  "openai-chat": { render: renderOpenaiChat, validate: validateOpenaiChat, toolName: openaiToolName },
  gemini: { render: renderGemini, validate: validateGemini, toolName: geminiToolName },
};

const formatOfFamily: Readonly<Record<Family, BodyFormat>> = {
  anthropic: "anthropic",
  openai: "openai-responses",
  google: "gemini",
};

/** A context as its provider takes it. The same input always gives the same body. */
export function renderBody(format: BodyFormat, input: RenderInput): RenderedBody {
  return formats[format].render(input);
}

/** The tools that a body names otherwise than they are called: from the body's name to their own. */
export function renamedTools(format: BodyFormat, tools: readonly Tool[]): { [name: string]: string } {
  const names = new ToolNames(tools, formats[format].toolName);
  const renamed = tools.map(({ name }) => [names.of(name), name] as const);
  return Object.fromEntries(renamed.filter(([inBody, name]) => inBody !== name));
}

/** The bytes to post. */
export function encodeBody(body: RenderedBody): Buffer {
  return Buffer.from(writeJson(body));
}

/** The provider's rules that a body breaks; none for one that the provider takes. */
export function validateBody(format: BodyFormat, body: unknown): BodyProblem[] {
  return formats[format].validate(body);
}

/** What is found wrong with bytes that are nested too deep to look further. */
export const bodyTooDeep: BodyProblem = {
  rule: "body_depth",
  path: "",
  message: `is nested more than ${maxBodyDepth} levels deep`,
};

/** The same for bytes as they would be posted. */
export function validateBodyBytes({
  format,
  bytes,
}: {
  readonly format: BodyFormat;
  readonly bytes: Uint8Array;
}): BodyProblem[] {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [{ rule: "body_utf8", path: "", message: "must be valid UTF-8" }];
  }
  if (scanJson(text, maxBodyDepth) === "too deep") return [bodyTooDeep];
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? `: ${cause.message}` : "";
    return [{ rule: "body_json", path: "", message: `must be valid JSON${why}` }];
  }
  return validateBody(format, body);
}

/** How a provider is spoken to where nobody says; undefined for one that is not known. */
export function defaultFormat(provider: string): BodyFormat | undefined {
  const family = familyOf(provider);
  return family && formatOfFamily[family];
}
