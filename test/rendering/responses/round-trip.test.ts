import { describe, expect, test } from "vitest";
import { encodeBody, validateBody } from "../../../src/rendering/render.js";
import type { BodyFormat, RenderedBody } from "../../../src/rendering/render-input.js";
import { bodyFormats } from "../../../src/rendering/render-input.js";
import { isObject, type JsonObject } from "../../../src/rendering/schema-dialect.js";
import { anthropicResponses } from "./anthropic.js";
import { geminiResponses } from "./gemini.js";
import { chatResponses, openaiResponses } from "./openai.js";
import { bodyAfter, read } from "./read.js";

interface Provider {
  readonly responses: Readonly<Record<string, unknown>>;
  /** What the provider's model made, in an answer. */
  readonly given: (answer: never) => readonly unknown[];
  /** The same in a body that goes back to it. */
  readonly sent: (body: never) => readonly unknown[];
}

const modelsOwn = (item: JsonObject) =>
  item.role === "assistant" ||
  (item.type !== undefined && !String(item.type).endsWith("_output") && item.role === undefined);

const providers: Readonly<Record<BodyFormat, Provider>> = {
  anthropic: {
    responses: anthropicResponses,
    given: ({ content }: { content: unknown[] }) => content,
    sent: ({ messages }: { messages: { role: string; content: unknown[] }[] }) =>
      messages.flatMap(({ role, content }) => (role === "assistant" ? content : [])),
  },
  "openai-responses": {
    responses: openaiResponses,
    given: ({ output }: { output: unknown[] }) => output,
    sent: ({ input }: { input: JsonObject[] }) => input.filter(modelsOwn),
  },
  "openai-chat": {
    responses: chatResponses,
    given: ({ choices }: { choices: { message: JsonObject }[] }) => [choices[0]!.message],
    sent: ({ messages }: { messages: { role: string }[] }) =>
      messages.filter(({ role }) => role === "assistant"),
  },
  gemini: {
    responses: geminiResponses,
    given: ({ candidates }: { candidates: { content?: { parts: unknown[] } }[] }) =>
      candidates[0]!.content?.parts ?? [],
    sent: ({ contents }: { contents: { role: string; parts: unknown[] }[] }) =>
      contents.flatMap(({ role, parts }) => (role === "model" ? parts : [])),
  },
};

/** Without what says nothing: fields that are null, and empty lists of annotations. */
function meant(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meant);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(
    ([key, field]) =>
      field !== null && field !== undefined && !(key === "annotations" && String(field) === ""),
  );
  return Object.fromEntries(fields.map(([key, field]) => [key, meant(field)]));
}

const cases = bodyFormats.flatMap((format) =>
  Object.entries(providers[format].responses).map(([name, body]) => [format, name, body] as const),
);

/** What was cut off is sent as JSON that says so, for not all servers take half of it. */
const changed: ReadonlySet<string> = new Set(["openai-responses truncation", "openai-chat truncation"]);

describe("a response", () => {
  test.each(
    cases.filter(([format, name]) => !changed.has(`${format} ${name}`)),
  )("of %s goes back to its provider as it was: %s", (format, _name, body) => {
    const { given, sent } = providers[format];
    const back: RenderedBody = JSON.parse(encodeBody(bodyAfter(format, read(format, body).parts)).toString());
    expect(meant(sent(back as never))).toEqual(meant(given(body as never)));
    expect(validateBody(format, back)).toEqual([]);
  });

  test.each(
    cases.flatMap(([from, name, body]) => bodyFormats.map((to) => [from, name, to, body] as const)),
  )("of %s (%s) is history that %s takes", (from, _name, to, body) => {
    const back = JSON.parse(encodeBody(bodyAfter(to, read(from, body).parts)).toString());
    expect(validateBody(to, back)).toEqual([]);
  });
});
