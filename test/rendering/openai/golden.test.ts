import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderOpenaiChat } from "../../../src/rendering/openai-chat/body.js";
import { validateOpenaiChat } from "../../../src/rendering/openai-chat/validator.js";
import { renderOpenaiResponses } from "../../../src/rendering/openai-responses/body.js";
import { validateOpenaiResponses } from "../../../src/rendering/openai-responses/validator.js";
import { contexts } from "../contexts.js";
import { expectGoldenBody } from "../golden-body.js";
import { openaiContexts } from "./contexts.js";

const model = "gpt-6-sol";

describe.each([
  { format: "openai-chat", render: renderOpenaiChat, validate: validateOpenaiChat },
  { format: "openai-responses", render: renderOpenaiResponses, validate: validateOpenaiResponses },
])("$format", ({ format, render, validate }) => {
  test.each(Object.entries(contexts))("renders %s as its golden body", (name, input) => {
    const body = render({ ...input, model });
    expect(validate(body)).toEqual([]);
    expectGoldenBody(`${name}.${format}`, body);
  });

  test("makes a valid body of any messages, paired or not", () => {
    const makesValidBody = fc.property(openaiContexts(model), (input) => {
      expect(validate(render(input))).toEqual([]);
    });
    fc.assert(makesValidBody, { seed: 5, numRuns: 3_000 });
  });

  test("does not change what it was given", () => {
    const changesNothing = fc.property(openaiContexts(model), (input) => {
      const before = JSON.stringify(input);
      render(input);
      expect(JSON.stringify(input)).toBe(before);
    });
    fc.assert(changesNothing, { seed: 6, numRuns: 300 });
  });
});
