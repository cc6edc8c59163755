import { describe, expect, test } from "vitest";
import { type Message, MessageRole, type Part } from "../../src/domain/message.js";
import { defaultPromptTexts } from "../../src/domain/prompt-texts.js";
import {
  callArguments,
  cut,
  familyOf,
  fileText,
  hasText,
  imageText,
  isTextType,
  mediaTypeOf,
  pairedCalls,
  resultText,
  sentParts,
} from "../../src/rendering/messages.js";
import { anthropicInputSchema, inputSchema } from "../../src/rendering/schema-dialect.js";
import {
  anthropicCallId,
  callIds,
  geminiToolName,
  openaiToolName,
  ToolNames,
} from "../../src/rendering/tool-names.js";
import {
  approvalAnswer,
  approvalRequest,
  assistant,
  call,
  failure,
  imageOf,
  message,
  result,
  system,
  text,
  thinking,
  tool,
  toolOf,
  user,
} from "./contexts.js";

/** A conversation in short: who speaks, and which calls are answered with what. */
function inShort(...messages: readonly Message[]): readonly string[] {
  return pairedCalls(messages, callIds(anthropicCallId)).map((step) => {
    if (step.role === "tool") {
      return `tool ${step.calls.map(({ id, result }) => `${id}=${resultText(result)}`).join(" ")}`;
    }
    return `${step.role} ${step.parts.map(partInShort).join(" ")}`.trimEnd();
  });
}

function partInShort({ content }: Part): string {
  if (content?.$case === "text") return content.value.text;
  if (content?.$case === "toolCall") return `(${content.value.callId})`;
  return `<${content?.$case}>`;
}

describe("pairedCalls: what the model was told in a tool loop stands at the end of the last result", () => {
  const calls = (...ids: readonly string[]) => assistant(...ids.map((id) => call(id, "search", {})));
  const told = (role: MessageRole, ...parts: readonly Part[]) => message(role, parts, [text("told")]);

  test("as the current message, and as the context of the answer that followed: the same", () => {
    const before = [calls("a", "b"), tool(result("b", "B"), result("a", "A"))];
    expect(inShort(...before, told(MessageRole.USER))).toEqual(["assistant (a) (b)", "tool a=A b=B\ntold"]);
    expect(inShort(...before, told(MessageRole.ASSISTANT, text("So.")))).toEqual([
      "assistant (a) (b)",
      "tool a=A b=B\ntold",
      "assistant So.",
    ]);
  });

  test("as the user's words where no result stands before it", () => {
    expect(inShort(user(text("Hi.")), told(MessageRole.ASSISTANT, text("So.")))).toEqual([
      "user Hi.",
      "user told",
      "assistant So.",
    ]);
    expect(inShort(calls("a"), told(MessageRole.USER))).toEqual([
      "assistant (a)",
      expect.stringMatching(/^tool a=/),
      "user told",
    ]);
  });

  test("a result that comes later takes nothing of it away", () => {
    const steps = [calls("a", "b"), tool(result("a", "A")), told(MessageRole.USER), tool(result("b", "B"))];
    expect(inShort(...steps)).toEqual(["assistant (a) (b)", "tool a=A\ntold b=B"]);
  });
});

describe("pairedCalls: the results of calls stand directly after the messages that made them", () => {
  const calls = (...ids: readonly string[]) => assistant(...ids.map((id) => call(id, "search", {})));

  test("in the order of the calls, whichever message they came in", () => {
    expect(
      inShort(calls("a", "b", "c"), tool(result("c", "3"), result("a", "1")), tool(result("b", "2"))),
    ).toEqual(["assistant (a) (b) (c)", "tool a=1 b=2 c=3"]);
  });

  test("what stood between a call and its result comes after it", () => {
    const between = [
      assistant(call("a", "pay", {}), approvalRequest("ask", "a", "Pay?"), text("So?")),
      user(approvalAnswer("ask", false, "too much")),
      tool(failure("a", "denied")),
    ];
    expect(inShort(...between)).toEqual([
      "assistant (a) So?",
      "tool a=denied",
      "user [approval requested for pay: Pay?]",
      "user [approval request for pay: denied, too much]",
    ]);
    expect(inShort(calls("a"), user(text("Wait.")), assistant(text("Yes?")), tool(result("a", "1")))).toEqual(
      ["assistant (a)", "tool a=1", "user Wait.", "assistant Yes?"],
    );
  });

  test("those of neighbouring assistant messages come after the last of them", () => {
    expect(inShort(calls("a"), calls("b"), tool(result("a", "1"), result("b", "2")))).toEqual([
      "assistant (a)",
      "assistant (b)",
      "tool a=1 b=2",
    ]);
  });

  test("a call without a result gets an error that says so", () => {
    const steps = pairedCalls([calls("a"), user(text("Hm."))], callIds(anthropicCallId));
    const [made] = steps[1]?.role === "tool" ? steps[1].calls : [];
    expect(made && resultText(made.result)).toBe(defaultPromptTexts["no-result"]);
    expect(made?.result.isError).toBe(true);
  });

  test("a result without a call before it is the user's text, with its pictures", () => {
    expect(inShort(tool(result("a", "1", imageOf("x", "image/png"))), calls("a"))).toEqual([
      "user [result of a call that is not shown] 1 <image>",
      "assistant (a)",
      "tool a=[no result was recorded]",
    ]);
    expect(inShort(calls("a"), tool(result("a", "1"), result("a", "again")))).toEqual([
      "assistant (a)",
      "tool a=1",
      "user [result of a call that is not shown] again",
    ]);
  });

  test("an id that is used again means the last call of that id, and no two calls share an id in the body", () => {
    expect(
      inShort(calls("a"), user(text("Hm.")), calls("a", "a"), tool(result("a", "1"), result("a", "2"))),
    ).toEqual([
      "assistant (a)",
      "tool a=[no result was recorded]",
      "user Hm.",
      "assistant (a) (a)",
      "tool a_2=1 a_3=2",
    ]);
  });

  test("the user's steps hold only what a user can send", () => {
    expect(inShort(user(call("a", "search", { q: 1 }), thinking("anthropic", "Hm."), text("Hi.")))).toEqual([
      'user [call to search] {"q":1} Hi.',
    ]);
    expect(inShort(system(text("Be brief.")), user())).toEqual(["system Be brief."]);
  });

  test("each step says which message it was made from", () => {
    const steps = pairedCalls(
      [user(text("1")), calls("a"), user(text("2")), tool(result("a", "3"))],
      callIds(anthropicCallId),
    );
    expect(steps.map((step) => (step.role === "tool" ? step.calls[0]?.resultIndex : step.index))).toEqual([
      0, 1, 3, 2,
    ]);
  });
});

describe("parts", () => {
  test("are sent after their context parts", () => {
    const parts = sentParts(message("MESSAGE_ROLE_USER", [text("b")], [text("a")]));
    expect(parts.map(partInShort)).toEqual(["a", "b"]);
  });

  test("arguments that are not a JSON object are wrapped as they are", () => {
    const argumentsOf = (given: string) => {
      return callArguments({ callId: "", name: "", signature: "", argumentsJson: given });
    };
    expect(argumentsOf('{"a": [1]}')).toEqual({ a: [1] });
    expect(argumentsOf("")).toEqual({});
    for (const odd of ["[1]", "null", "{a: 1}", '"a"', '{"a": "\\ud800"}'])
      expect(argumentsOf(odd)).toEqual({ _raw: odd });
    expect(argumentsOf('{"a": "\\ud83d\\ude00"}')).toEqual({ a: "😀" });
  });

  test("white space is no text", () => {
    expect(["", " ", "\n\t ", "\u00a0"].map(hasText)).toEqual([false, false, false, false]);
    expect(["a", " a", "\u00e9"].map(hasText)).toEqual([true, true, true]);
  });

  test("media types are without parameters, and guessed from names where they are missing", () => {
    const uri = (value: string) => ({ $case: "uri" as const, value });
    expect(mediaTypeOf({ source: undefined, mediaType: "Image/JPG; q=1" })).toBe("image/jpeg");
    expect(mediaTypeOf({ source: uri("https://example.com/a.PNG?x=.pdf"), mediaType: "" })).toBe("image/png");
    expect(mediaTypeOf({ source: uri("https://example.com/x"), mediaType: "", name: "a.pdf" })).toBe(
      "application/pdf",
    );
    expect(mediaTypeOf({ source: undefined, mediaType: "", name: "constructor" })).toBe("");
    expect(["text/html", "application/json", "application/ld+json"].every(isTextType)).toBe(true);
    expect(["application/pdf", "image/svg+xml"].some(isTextType)).toBe(false);
  });

  test("what cannot be sent is named", () => {
    expect(
      fileText(defaultPromptTexts, { source: undefined, mediaType: "application/x", name: "name.bin" }),
    ).toBe("[file name.bin, application/x]");
    expect(fileText(defaultPromptTexts, { source: undefined, mediaType: "", name: "" })).toBe("[file]");
    expect(imageText(defaultPromptTexts, { source: undefined, mediaType: "image/bmp" })).toBe(
      "[image, image/bmp]",
    );
  });

  test("a text is never cut within a character", () => {
    expect(cut("a😀", 2)).toBe("a");
    expect(cut("a😀", 3)).toBe("a😀");
  });

  test("a provider's names belong to one family", () => {
    const families = ["anthropic", "OpenAI", "google", "gemini", "vertex_ai", "acme", ""].map(familyOf);
    expect(families).toEqual(["anthropic", "openai", "google", "google", "google", undefined, undefined]);
  });
});

describe("tool names", () => {
  test("stay where the provider allows them, and are never shared", () => {
    const tools = ["a.b", "a_b", "a b", "x".repeat(70), "x".repeat(71), ""].map((name) =>
      toolOf(name, "", ""),
    );
    const names = new ToolNames(tools, openaiToolName);
    const given = tools.map(({ name }) => names.of(name));
    expect(given).toEqual(["a_b_2", "a_b", "a_b_3", "x".repeat(64), `${"x".repeat(62)}_2`, "tool"]);
    expect(names.of("a/b")).toBe("a_b_4");
    expect(names.of("a.b")).toBe("a_b_2");
  });

  test("depend on the tools, not on what was asked first", () => {
    const tools = [toolOf("7up", "", ""), toolOf("a/b", "", "")];
    const names = new ToolNames(tools, geminiToolName);
    names.of("a?b");
    expect(names.of("a/b")).toBe("a_b");
    expect(names.of("7up")).toBe("tool_7up");
  });

  test("the first tool of a name is the one that is declared", () => {
    const tools = [toolOf("a", "first", ""), toolOf("a", "second", "")];
    expect(new ToolNames(tools, openaiToolName).declared.map(({ description }) => description)).toEqual([
      "first",
    ]);
  });
});

describe("input schemas", () => {
  const schemaOf = (given: unknown) => inputSchema(toolOf("a", "", given));
  const none = { type: "object", properties: {} };

  test("of an object stay as they are, to the order of their keys", () => {
    const given =
      '{"required":["b"],"type":"object","properties":{"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}';
    expect(JSON.stringify(schemaOf(given))).toBe(given);
  });

  test("that are missing, broken or of something else are those of no input", () => {
    for (const odd of ["", "{", "null", "[]", '{"type": "string"}', "{}"])
      expect(schemaOf(odd)).toEqual(none);
  });

  test("are made an object's where they nearly are", () => {
    expect(schemaOf({ properties: { a: {} } })).toEqual({ type: "object", properties: { a: {} } });
    expect(schemaOf({ type: ["object", "null"], required: ["a", "a", 1], properties: 3 })).toEqual({
      type: "object",
      properties: {},
      required: ["a"],
    });
  });

  test("with choices at the top keep every property, and require what all choices do", () => {
    const schema = schemaOf({
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      allOf: [{ properties: { b: {} }, required: ["b"] }],
      oneOf: [
        { properties: { c: {} }, required: ["c", "d"] },
        { properties: { d: {} }, required: ["d"] },
      ],
    });
    expect(schema).toEqual({
      type: "object",
      properties: { b: {}, c: {}, d: {}, a: { type: "string" } },
      required: ["a", "b", "d"],
    });
  });

  test("for Anthropic are without properties that it cannot name", () => {
    const given = toolOf("a", "", {
      type: "object",
      properties: { "a b": {}, ok: {} },
      required: ["a b", "ok"],
    });
    expect(anthropicInputSchema(given)).toEqual({ type: "object", properties: { ok: {} }, required: ["ok"] });
  });
});
