import { describe, expect, test } from "vitest";
import { type Message, MessageRole } from "../../src/domain/message.js";
import { OpenItemKind } from "../../src/domain/turn.js";
import { itemKey, OpenItems, openCallIds } from "../../src/thread/open-items.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";

const call = (id: string) => itemKey(OpenItemKind.TOOL_CALL, id);
const approval = (id: string) => itemKey(OpenItemKind.APPROVAL, id);

function asks(approvalId: string, callId: string): Pick<Message, "role" | "parts"> {
  const value = { approvalId, callId, prompt: "May I?" };
  return { role: MessageRole.ASSISTANT, parts: [{ content: { $case: "approvalRequest", value } }] };
}

function followed(...messages: readonly Pick<Message, "role" | "parts">[]) {
  const items = new OpenItems();
  const changes = messages.map((message) => items.follow(message));
  return { items, changes, last: changes.at(-1)! };
}

describe("what is open", () => {
  test("is what was called, until its result comes", () => {
    const { items, changes } = followed(toolCalls("a", "b"), toolResults("b"));
    expect(changes[0]).toEqual({ opened: [call("a"), call("b")], closed: [], givenUp: [] });
    expect(changes[1]).toEqual({ opened: [], closed: [call("b")], givenUp: [] });
    expect(openCallIds(items.all)).toEqual(["a"]);
  });

  test("is closed with its approval when the call is answered without one", () => {
    const both = { ...toolCalls("a"), parts: [...toolCalls("a").parts, ...asks("x", "a").parts] };
    const { items, last } = followed(both, toolResults("a"));
    expect(last.closed).toEqual([call("a"), approval("x")]);
    expect(items.size).toBe(0);
  });

  test("is given up by whatever is no answer, and by nothing that an operator says", () => {
    expect(followed(toolCalls("a"), system("Be brief.")).items.size).toBe(1);
    expect(followed(toolCalls("a"), user("Never mind.")).last.givenUp).toEqual([call("a")]);
    expect(followed(toolCalls("a"), assistant("Well.")).last.givenUp).toEqual([call("a")]);
    expect(followed(toolCalls("a", "b"), toolResults("a")).last.givenUp).toEqual([]);
  });

  test("says that an answer closes what it does not know: the call may be before what was read", () => {
    expect(followed(toolResults("a")).last).toEqual({ opened: [], closed: [call("a")], givenUp: [] });
  });
});
