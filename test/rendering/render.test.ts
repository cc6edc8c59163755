import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  defaultFormat,
  encodeBody,
  familyOf,
  renderBody,
  validateBody,
  validateBodyBytes,
} from "../../src/rendering/render.js";
import { type BodyFormat, bodyFormats } from "../../src/rendering/render-input.js";
import { contexts } from "./contexts.js";
import { randomContexts } from "./random-contexts.js";

const models: Readonly<Record<BodyFormat, string>> = {
  anthropic: "claude-opus-5-5",
  "openai-responses": "gpt-6-sol",
  "openai-chat": "gpt-6-sol",
  gemini: "gemini-3.8-flash",
};

describe.each(bodyFormats)("%s", (format) => {
  const model = models[format];

  test.each(
    Object.entries(contexts),
  )("%s is rendered as a valid body, the same bytes each time", (_, input) => {
    const body = renderBody(format, { ...input, model });
    expect(validateBody(format, body)).toEqual([]);
    const bytes = encodeBody(body);
    expect(validateBodyBytes({ format, bytes })).toEqual([]);
    // A copy, so that nothing that is remembered for the first one can help.
    const again = renderBody(format, { ...input, model, tools: input.tools.map((tool) => ({ ...tool })) });
    expect(encodeBody(again).equals(bytes)).toBe(true);
  });

  test("whatever there is is rendered as a valid body, the same bytes each time", () => {
    const isValidAndStable = fc.property(randomContexts(model), (input) => {
      const bytes = encodeBody(renderBody(format, input));
      expect(validateBodyBytes({ format, bytes })).toEqual([]);
      expect(encodeBody(renderBody(format, input)).equals(bytes)).toBe(true);
    });
    fc.assert(isValidAndStable, { seed: 50, numRuns: 500 });
  });

  test("bytes that are no UTF-8 and texts that are no JSON are problems, not errors", () => {
    const rulesOf = (bytes: Buffer) => validateBodyBytes({ format, bytes }).map(({ rule }) => rule);
    expect(rulesOf(Buffer.from([0x7b, 0xff, 0x7d]))).toEqual(["body_utf8"]);
    expect(rulesOf(Buffer.from("{"))).toEqual(["body_json"]);
    expect(rulesOf(Buffer.from("\ufeff{}"))).toEqual(["body_json"]);
    expect(rulesOf(Buffer.from("null"))).not.toEqual([]);
  });
});

test.each([
  ["anthropic", "anthropic", "anthropic"],
  ["openai", "openai", "openai-responses"],
  ["google", "google", "gemini"],
  ["gemini", "google", "gemini"],
  ["vertex", "google", "gemini"],
  ["mistral", undefined, undefined],
  ["", undefined, undefined],
])("the provider %j is of the family %j and is spoken to as %j", (provider, family, format) => {
  expect(familyOf(provider)).toBe(family);
  expect(defaultFormat(provider)).toBe(format);
});
