import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importOpenai } from "../../../src/transcripts/import/openai.js";
import { found, requireLedgerTakes, shapes } from "../plan-shape.js";

type ChatMessage = Readonly<Record<string, unknown>>;

const system = (content: string): ChatMessage => ({ role: "system", content });
const user = (content: string): ChatMessage => ({ role: "user", content });
const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
const calls = (...ids: readonly string[]): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } })),
});
const result = (tool_call_id: string, content = `of ${tool_call_id}`): ChatMessage => ({
  role: "tool",
  tool_call_id,
  content,
});

function plan(...messages: readonly ChatMessage[]) {
  const made = importOpenai(JSON.stringify(messages), { label: "s", given: true });
  requireLedgerTakes(made);
  return made;
}

const turnsOf = (...messages: readonly ChatMessage[]) => shapes(plan(...messages).sessions[0]);

describe("cutting a conversation into turns", () => {
  it("cuts at user messages; system messages and neighbouring user messages stay in one turn", () => {
    expect(turnsOf(system("S"), user("a"), user("b"), assistant("c"), user("d"), assistant("e"))).toEqual([
      ["system S", "user a", "user b", "assistant c"],
      ["user d", "assistant e"],
    ]);
  });

  it("keeps calls and their results in the turn of the question", () => {
    expect(turnsOf(user("a"), calls("1", "2"), result("2"), result("1"), assistant("b"))).toEqual([
      ["user a", "assistant -> f#1{} + -> f#2{}", "tool 2=of 2", "tool 1=of 1", "assistant b"],
    ]);
  });

  it("ends the turn as awaiting at a call that is never answered, and the next turn abandons it", () => {
    const made = plan(user("a"), calls("1"), user("b"), assistant("c"));
    expect(shapes(made.sessions[0])).toEqual([
      ["user a", "assistant -> f#1{}", "(awaiting)"],
      ["(abandons)", "user b", "assistant c"],
    ]);
    expect(found(made, "tool calls that were never answered")).toBe(1);
  });

  it("goes on with the assistant when a call in mid-turn is never answered", () => {
    expect(turnsOf(user("a"), calls("1", "2"), result("1"), assistant("b"))).toEqual([
      ["user a", "assistant -> f#1{} + -> f#2{}", "tool 1=of 1", "(awaiting)"],
      ["(abandons)", "assistant b"],
    ]);
  });

  it("leaves the calls open when the conversation ends with them", () => {
    expect(turnsOf(user("a"), calls("1"))).toEqual([["user a", "assistant -> f#1{}", "(awaiting)"]]);
  });

  it("gives a conversation that the assistant opened a user message, and says so", () => {
    const made = plan(system("S"), assistant("hello"), user("a"), assistant("b"));
    expect(shapes(made.sessions[0])).toEqual([
      ["system S", "user [conversation opened by the assistant]", "assistant hello"],
      ["user a", "assistant b"],
    ]);
    expect(found(made, "conversations that the assistant opened")).toBe(1);
  });

  it("renames call ids that are used twice in a turn together with their results", () => {
    const made = plan(
      user("a"),
      calls("x"),
      result("x", "one"),
      calls("x"),
      result("x", "two"),
      assistant("b"),
    );
    expect(shapes(made.sessions[0])).toEqual([
      ["user a", "assistant -> f#x{}", "tool x=one", "assistant -> f#x~2{}", "tool x~2=two", "assistant b"],
    ]);
    expect(found(made, "call ids that were missing, too long or used twice")).toBe(1);
  });

  it("keeps equal call ids in different turns", () => {
    expect(turnsOf(user("a"), calls("x"), result("x"), user("b"), calls("x"), result("x"))).toEqual([
      ["user a", "assistant -> f#x{}", "tool x=of x"],
      ["user b", "assistant -> f#x{}", "tool x=of x"],
    ]);
  });

  it("answers equal ids of one message in order", () => {
    expect(turnsOf(user("a"), calls("x", "x"), result("x", "one"), result("x", "two"))).toEqual([
      ["user a", "assistant -> f#x{} + -> f#x~2{}", "tool x=one", "tool x~2=two"],
    ]);
  });

  it("names calls that have no id", () => {
    expect(turnsOf(user("a"), calls(""), result("", "r"), assistant("b"))).toEqual([
      ["user a", "assistant -> f#call~1{}", "tool call~1=r", "assistant b"],
    ]);
  });

  it("shortens ids that are too long, the same way each time", () => {
    const [turn] = turnsOf(user("a"), calls("y".repeat(400)), result("y".repeat(400), "r"));
    const id = /#(\S+)\{\}$/.exec(turn?.[1] ?? "")?.[1] ?? "";
    expect(id.length).toBeLessThanOrEqual(256);
    expect(turn?.[2]).toBe(`tool ${id}=r`);
  });

  it("keeps a result without a call as a marked user message", () => {
    const made = plan(user("a"), assistant("b"), result("lost", "r"), assistant("c"));
    expect(shapes(made.sessions[0])).toEqual([
      ["user a", "assistant b"],
      ["user [tool result without a call: lost] + r", "assistant c"],
    ]);
    expect(found(made, "tool results that answer no open call")).toBe(1);
  });

  it("keeps a second answer to one call as a marked user message, behind the round of results", () => {
    expect(
      turnsOf(user("a"), calls("1", "2"), result("1"), result("1", "again"), result("2"), assistant("b")),
    ).toEqual([
      ["user a", "assistant -> f#1{} + -> f#2{}", "tool 1=of 1", "tool 2=of 2"],
      ["user [tool result without a call: 1] + again", "assistant b"],
    ]);
  });

  it("moves a late result behind its call, and the message that came between behind the result", () => {
    const made = plan(user("a"), calls("1"), user("still there?"), result("1"), assistant("b"));
    expect(shapes(made.sessions[0])).toEqual([
      ["user a", "assistant -> f#1{}", "tool 1=of 1"],
      ["user still there?", "assistant b"],
    ]);
    expect(found(made, "tool results that came late")).toBe(1);
  });

  it("starts a turn with a later system message that a user message follows", () => {
    expect(turnsOf(user("a"), assistant("b"), system("S"), user("c"))).toEqual([
      ["user a", "assistant b"],
      ["system S", "user c"],
    ]);
  });

  it("keeps a system message in the midst of an answer as a marked user message", () => {
    const made = plan(user("a"), assistant("b"), system("S"), assistant("c"));
    expect(shapes(made.sessions[0])).toEqual([
      ["user a", "assistant b"],
      ["user [system message] + S", "assistant c"],
    ]);
    expect(found(made, "system messages that start no turn")).toBe(1);
  });

  it("keeps a message without content with an empty text", () => {
    const made = plan(user("a"), assistant(""), user(""), assistant("b"));
    expect(shapes(made.sessions[0])).toEqual([
      ["user a", "assistant "],
      ["user ", "assistant b"],
    ]);
    expect(found(made, "messages without content")).toBe(2);
  });

  it("splits what is too long for one message, and keeps the calls last", () => {
    const parts = Array.from({ length: 1_100 }, (_, index) => ({ type: "text", text: `${index}` }));
    const made = plan(user("a"), { ...calls("1"), content: parts }, result("1"), assistant("b"));
    const sizes = made.sessions[0]?.turns[0]?.messages.map(({ parts: each }) => each.length);
    expect(sizes).toEqual([1, 1_024, 76, 1, 1, 1]);
  });

  it("splits texts above 4 MiB without parting a character", () => {
    const long = "🦊".repeat(1_400_000);
    const [message] = plan(user(long)).sessions[0]?.turns[0]?.messages ?? [];
    const texts =
      message?.parts.map(({ content }) => (content?.$case === "text" ? content.value.text : "")) ?? [];
    expect(texts.length).toBeGreaterThan(1);
    expect(texts.join("")).toBe(long);
    for (const text of texts) expect(Buffer.from(text).toString()).toBe(text);
  });

  it("replaces inline data above 1 MiB by a text that names its size, and says so", () => {
    const url = `data:image/png;base64,${Buffer.alloc(1_100_000, 1).toString("base64")}`;
    const made = plan({ role: "user", content: [{ type: "image_url", image_url: { url } }] });
    expect(shapes(made.sessions[0])).toEqual([["user [image of 1100000 bytes left out by the import]"]]);
    expect(found(made, "inline data that is empty or above")).toBe(1);
  });
});

describe("any conversation", () => {
  const id = fc.constantFrom("1", "2", "3", "");
  const message = fc.oneof(
    fc.string({ maxLength: 5 }).map(user),
    fc.string({ maxLength: 5 }).map(assistant),
    fc.string({ maxLength: 5 }).map(system),
    fc.array(id, { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
    id.map((each) => result(each, `result-${each}`)),
  );

  it("becomes turns that the ledger takes, in which every call, result and text is there", () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 14 }), (messages) => {
        const made = plan(...messages);
        const parts =
          made.sessions[0]?.turns.flatMap(({ messages: each }) => each.flatMap(({ parts: all }) => all)) ??
          [];
        const count = (kind: string) => parts.filter(({ content }) => content?.$case === kind).length;
        const given = messages.flatMap(({ tool_calls }) => (Array.isArray(tool_calls) ? tool_calls : []));
        const results = messages.filter(({ role }) => role === "tool").length;
        expect(count("toolCall")).toBe(given.length);
        expect(count("toolResult") + found(made, "tool results that answer no open call")).toBe(results);
        const texts = parts.flatMap(({ content }) => (content?.$case === "text" ? [content.value.text] : []));
        for (const { role, content } of messages) {
          if (role !== "tool" && typeof content === "string" && content !== "")
            expect(texts).toContain(content);
        }
      }),
      { numRuns: 1_000, seed: 7 },
    );
  });

  it("is cut the same way each time", () => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 14 }), (messages) => {
        expect(plan(...messages)).toEqual(plan(...messages));
      }),
      { numRuns: 100, seed: 7 },
    );
  });
});
