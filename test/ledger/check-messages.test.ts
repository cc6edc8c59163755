import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import { OpenItemKind, TurnStatus } from "../../src/domain/turn.js";
import { QuireError } from "../../src/errors/quire-error.js";
import { checkEnd, checkParts, extendState } from "../../src/ledger/check-messages.js";
import { locate } from "../../src/ledger/turn-draft.js";
import type { WaitingItem } from "../../src/thread/open-items.js";
import { OpenState } from "../../src/thread/open-state.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";
import {
  approvalPart,
  asksFor,
  callPart,
  decides,
  decisionPart,
  onePartOfEach,
  resultPart,
  said,
  textPart,
} from "./message-parts.js";
import { type GeneratedTurn, validTurn } from "./valid-turn.js";

interface Circumstances {
  readonly status?: TurnStatus;
  readonly parentItems?: readonly WaitingItem[];
  readonly mayAbandon?: boolean;
  /** Stores and reads back the state after each message, as a turn that is written step by step does. */
  readonly stepByStep?: boolean;
}

interface Verdict {
  readonly reason: string;
  readonly field: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly state: OpenState;
}

/** What the ledger's rules say of a whole turn: the reason of the refusal, or "accepted". */
function judge(messages: readonly Message[], circumstances: Circumstances = {}): Verdict {
  const { status = TurnStatus.COMPLETED, parentItems = [], mayAbandon = false } = circumstances;
  let state = OpenState.under(parentItems, mayAbandon);
  try {
    const located = locate(messages, "messages");
    checkParts(located);
    for (const entry of located) {
      extendState(state, [entry]);
      if (circumstances.stepByStep) state = OpenState.parse(state.toJson());
    }
    checkEnd(state, status, "the end");
    return { reason: "accepted", field: "", metadata: {}, state };
  } catch (error) {
    if (!(error instanceof QuireError)) throw error;
    return { reason: error.reason, field: error.violations[0]?.field ?? "", metadata: error.metadata, state };
  }
}

const waitingCall = (id: string): WaitingItem => ({ kind: OpenItemKind.TOOL_CALL, id });
const waitingApproval = (id: string, forCallId?: string): WaitingItem => ({
  kind: OpenItemKind.APPROVAL,
  id,
  forCallId,
});

describe("check-messages: parts", () => {
  const allowed: Readonly<Record<string, readonly string[]>> = {
    [MessageRole.SYSTEM]: ["text"],
    [MessageRole.USER]: ["text", "approvalAnswer", "image", "file", "opaque"],
    [MessageRole.ASSISTANT]: ["text", "thinking", "toolCall", "approvalRequest", "image", "file", "opaque"],
    [MessageRole.TOOL]: ["toolResult"],
  };

  test.each(
    Object.entries(allowed),
  )("%s: takes the parts that the contract lists, and no other", (role, kinds) => {
    for (const part of onePartOfEach) {
      const check = () => checkParts(locate([said(role as MessageRole, part)], "messages"));
      if (kinds.includes(part.content!.$case)) expect(check).not.toThrow();
      else expect(check).toThrow(expect.objectContaining({ reason: "PART_NOT_ALLOWED" }));
    }
  });

  test("context parts are text, image or file, in any role", () => {
    for (const part of onePartOfEach) {
      const check = () => checkParts(locate([{ ...user("x"), contextParts: [part] }], "messages"));
      if (["text", "image", "file"].includes(part.content!.$case)) expect(check).not.toThrow();
      else expect(check).toThrow(expect.objectContaining({ reason: "PART_NOT_ALLOWED" }));
    }
  });

  test("the part that cannot be there is named by its path", () => {
    const { reason, field } = judge([user("x"), said(MessageRole.TOOL, resultPart("c"), textPart("no"))]);
    expect([reason, field]).toEqual(["PART_NOT_ALLOWED", "messages[1].parts[1].text"]);
  });
});

describe("check-messages: roles", () => {
  test.each([
    ["user, assistant", [user("a"), assistant("b")]],
    ["a user alone", [user("a")]],
    ["system before user", [system("s"), system("t"), user("a"), assistant("b")]],
    ["two users, two assistants", [user("a"), user("b"), assistant("c"), assistant("d")]],
    ["an assistant between users", [user("a"), assistant("b"), user("c")]],
  ])("accepts %s", (_, messages) => {
    expect(judge(messages).reason).toBe("accepted");
  });

  test.each([
    ["system after another message", [user("a"), system("s")], "messages[1].role"],
    ["an assistant first", [assistant("a")], "messages[0].role"],
    ["an assistant after system messages only", [system("s"), assistant("a")], "messages[1].role"],
    ["system messages only", [system("s")], "the end"],
    ["nothing at all", [], "the end"],
  ])("refuses %s", (_, messages, place) => {
    const { reason, field } = judge(messages);
    expect([reason, field]).toEqual(["BAD_ROLE_ORDER", place]);
  });
});

describe("check-messages: calls and results", () => {
  test("results may come together, apart, and in any order", () => {
    for (const results of [
      [toolResults("a", "b")],
      [toolResults("b"), toolResults("a")],
      [toolResults("b", "a")],
      [toolResults("a"), toolResults("b")],
    ]) {
      expect(judge([user("x"), toolCalls("a", "b"), ...results, assistant("done")]).reason).toBe("accepted");
    }
  });

  test.each([
    ["a result of no call", [user("x"), toolResults("c9")], "ORPHAN_TOOL_RESULT"],
    ["a result before its call", [user("x"), toolResults("a"), toolCalls("a")], "ORPHAN_TOOL_RESULT"],
    ["a second result", [user("x"), toolCalls("a"), toolResults("a"), toolResults("a")], "DUPLICATE_ANSWER"],
    [
      "a second result in one message",
      [user("x"), toolCalls("a"), toolResults("a", "a")],
      "DUPLICATE_ANSWER",
    ],
    ["a call id twice in one message", [user("x"), toolCalls("a", "a")], "DUPLICATE_CALL"],
    [
      "a call id again after its result",
      [user("x"), toolCalls("a"), toolResults("a"), toolCalls("a")],
      "DUPLICATE_CALL",
    ],
  ])("refuses %s, and names the call", (_, messages, reason) => {
    const verdict = judge(messages, { status: TurnStatus.FAILED });
    expect(verdict.reason).toBe(reason);
    expect(verdict.metadata.call_id).toBeTruthy();
    expect(verdict.field).toMatch(/^messages\[\d\]\.parts\[\d\]\.tool_(call|result)\.call_id$/);
  });

  test("nothing but answers may stand between a call and its result", () => {
    for (const between of [user("wait"), assistant("wait"), toolCalls("b")]) {
      const verdict = judge([user("x"), toolCalls("a"), between, toolResults("a")]);
      expect(verdict).toMatchObject({ reason: "BAD_ROLE_ORDER", field: "messages[2].role" });
      expect(verdict.metadata.open_items).toBe("a");
    }
  });

  test("a completed turn leaves no call open; an awaiting or failed one may", () => {
    const messages = [user("x"), toolCalls("a", "b"), toolResults("b")];
    expect(judge(messages)).toMatchObject({ reason: "UNANSWERED_CALLS", metadata: { open_items: "a" } });
    for (const status of [TurnStatus.AWAITING, TurnStatus.FAILED]) {
      const { reason, state } = judge(messages, { status });
      expect(reason).toBe("accepted");
      expect(state.open).toEqual([{ kind: OpenItemKind.TOOL_CALL, id: "a" }]);
    }
  });
});

describe("check-messages: approvals", () => {
  test("a request is answered by a user, before the call runs or without one", () => {
    const ask = asksFor(callPart("c"), approvalPart("ask", "c"), approvalPart("free"));
    const messages = [user("x"), ask, decides("ask", "free"), toolResults("c"), assistant("done")];
    expect(judge(messages).reason).toBe("accepted");
  });

  test("a call that has its result no longer needs its approval", () => {
    const ask = asksFor(callPart("c"), approvalPart("ask", "c"));
    expect(judge([user("x"), ask, toolResults("c"), assistant("done")]).reason).toBe("accepted");
  });

  test("the same holds when the parent turn asked", () => {
    const parentItems = [waitingCall("c"), waitingApproval("ask", "c"), waitingApproval("free")];
    const rest = (messages: readonly Message[]) =>
      judge(messages, { parentItems, status: TurnStatus.AWAITING }).state.open;
    expect(rest([toolResults("c")])).toEqual([{ kind: OpenItemKind.APPROVAL, id: "free" }]);
    expect(judge([toolResults("c"), decides("free"), assistant("done")], { parentItems }).reason).toBe(
      "accepted",
    );
  });

  test("a denied call still needs its result, which says so", () => {
    const ask = asksFor(callPart("c"), approvalPart("ask", "c"));
    expect(judge([user("x"), ask, decides("ask")]).reason).toBe("UNANSWERED_CALLS");
  });

  test("an id may name a call and an approval at once", () => {
    const ask = asksFor(callPart("same"), approvalPart("same", "same"));
    expect(judge([user("x"), ask, decides("same"), toolResults("same")]).reason).toBe("accepted");
  });

  test.each<readonly [string, readonly Message[], string]>([
    ["an answer to nothing", [user("x"), decides("ask")], "ORPHAN_APPROVAL_ANSWER"],
    ["a second answer", [user("x"), asksFor(approvalPart("ask")), decides("ask", "ask")], "DUPLICATE_ANSWER"],
    [
      "an approval id twice",
      [user("x"), asksFor(approvalPart("ask"), approvalPart("ask"))],
      "DUPLICATE_CALL",
    ],
  ])("refuses %s, and names the approval", (_, messages, reason) => {
    const verdict = judge(messages, { status: TurnStatus.FAILED });
    expect(verdict.reason).toBe(reason);
    expect(verdict.metadata.approval_id).toBe("ask");
  });

  test("a request for a call that is neither of this turn nor open is refused by its field", () => {
    const verdict = judge([user("x"), asksFor(approvalPart("ask", "gone"))]);
    const field = "messages[1].parts[0].approval_request.call_id";
    expect(verdict).toMatchObject({ reason: "INVALID_FIELD", field });
  });

  test("a user's words together with an answer are no answer only: nothing else may be open", () => {
    const ask = asksFor(callPart("c"), approvalPart("ask", "c"));
    const answer = said(MessageRole.USER, decisionPart("ask"), textPart("go on"));
    expect(judge([user("x"), ask, answer, toolResults("c")]).reason).toBe("BAD_ROLE_ORDER");
  });
});

describe("check-messages: what the parent awaits", () => {
  const parentItems = [waitingCall("a"), waitingCall("b")];

  test("the next turn may begin with the answers, and go on with the assistant", () => {
    expect(judge([toolResults("a", "b"), assistant("done")], { parentItems }).reason).toBe("accepted");
  });

  test("it may not go on before all are answered", () => {
    const verdict = judge([toolResults("a"), assistant("done")], { parentItems });
    expect(verdict).toMatchObject({
      reason: "UNANSWERED_CALLS",
      field: "messages[1]",
      metadata: { open_items: "b" },
    });
    expect(judge([user("never mind")], { parentItems }).reason).toBe("UNANSWERED_CALLS");
  });

  test("abandon_open_items gives up what is not answered, and says what that was", () => {
    const all = judge([user("never mind")], { parentItems, mayAbandon: true });
    expect([all.reason, all.state.abandoned.map((item) => item.id)]).toEqual(["accepted", ["a", "b"]]);
    const some = judge([toolResults("a"), assistant("done")], { parentItems, mayAbandon: true });
    expect([some.reason, some.state.abandoned.map((item) => item.id)]).toEqual(["accepted", ["b"]]);
  });

  test("a completed turn of answers only gives up the rest, too; an awaiting one hands it on", () => {
    const completed = judge([toolResults("a")], { parentItems, mayAbandon: true });
    expect([completed.reason, completed.state.abandoned, completed.state.open]).toEqual([
      "accepted",
      [{ kind: OpenItemKind.TOOL_CALL, id: "b" }],
      [],
    ]);
    const awaiting = judge([toolResults("a")], {
      parentItems,
      mayAbandon: true,
      status: TurnStatus.AWAITING,
    });
    expect([awaiting.state.abandoned, awaiting.state.open]).toEqual([
      [],
      [{ kind: OpenItemKind.TOOL_CALL, id: "b" }],
    ]);
  });

  test("calls of the turn itself are never given up", () => {
    const circumstances = { parentItems, mayAbandon: true };
    expect(judge([user("x"), toolCalls("c"), user("y")], circumstances).reason).toBe("BAD_ROLE_ORDER");
    expect(judge([user("x"), toolCalls("c")], circumstances).reason).toBe("UNANSWERED_CALLS");
  });

  test("what was given up cannot be answered later", () => {
    const verdict = judge([user("never mind"), toolResults("a")], { parentItems, mayAbandon: true });
    expect(verdict.reason).toBe("ORPHAN_TOOL_RESULT");
  });

  test("an id that the parent left open is not free", () => {
    expect(judge([toolResults("a", "b"), toolCalls("a")], { parentItems }).reason).toBe("DUPLICATE_CALL");
  });

  test("without an awaiting parent a turn does not begin with an assistant, whatever may be abandoned", () => {
    expect(judge([assistant("x")], { mayAbandon: true }).reason).toBe("BAD_ROLE_ORDER");
  });
});

describe("check-messages: properties", () => {
  const runs = { seed: 20261116, numRuns: 400 };
  const circumstancesOf = (turn: GeneratedTurn) => ({ status: turn.status, parentItems: turn.parentItems });

  test("any valid turn is accepted, and leaves open what it says", () => {
    fc.assert(
      fc.property(validTurn(), (turn) => {
        const { reason, state } = judge(turn.messages, circumstancesOf(turn));
        expect(reason).toBe("accepted");
        const open = state.open.map(({ kind, id }) => `${kind} ${id}`).sort();
        expect(open).toEqual(turn.leavesOpen.map(({ kind, id }) => `${kind} ${id}`).sort());
      }),
      runs,
    );
  });

  test("a turn that is written step by step gets the same verdict", () => {
    fc.assert(
      fc.property(validTurn(), fc.nat(), (turn, at) => {
        const cut = turn.messages.toSpliced(at % turn.messages.length, 1);
        for (const messages of [turn.messages, cut]) {
          const whole = judge(messages, circumstancesOf(turn));
          const stepwise = judge(messages, { ...circumstancesOf(turn), stepByStep: true });
          expect([stepwise.reason, stepwise.field]).toEqual([whole.reason, whole.field]);
          if (whole.reason === "accepted")
            expect(stepwise.state.toFinishedJson()).toBe(whole.state.toFinishedJson());
        }
      }),
      runs,
    );
  });

  type Place = {
    readonly message: number;
    readonly part: number;
    readonly content: NonNullable<Part["content"]>;
  };

  function places(messages: readonly Message[], kind: NonNullable<Part["content"]>["$case"]): Place[] {
    return messages.flatMap((message, index) =>
      message.parts.flatMap((part, at) =>
        part.content?.$case === kind ? [{ message: index, part: at, content: part.content }] : [],
      ),
    );
  }

  /** The messages with the parts of one of them changed; a message without parts is gone. */
  function withParts(
    messages: readonly Message[],
    index: number,
    change: (parts: readonly Part[]) => readonly Part[],
  ): Message[] {
    const changed = { ...messages[index]!, parts: change(messages[index]!.parts) };
    return messages.toSpliced(index, 1, ...(changed.parts.length > 0 ? [changed] : []));
  }

  type Mutation = (messages: readonly Message[], pick: number) => readonly Message[] | undefined;

  function atOneOf(
    kind: NonNullable<Part["content"]>["$case"],
    change: (messages: readonly Message[], place: Place) => readonly Message[],
  ): Mutation {
    return (messages, pick) => {
      const found = places(messages, kind);
      return found.length === 0 ? undefined : change(messages, found[pick % found.length]!);
    };
  }

  const unanswered = ["UNANSWERED_CALLS", "BAD_ROLE_ORDER"];
  const mutations: Readonly<Record<string, readonly [Mutation, readonly string[]]>> = {
    "a result is dropped": [
      atOneOf("toolResult", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 1)),
      ),
      unanswered,
    ],
    "a result is doubled": [
      atOneOf("toolResult", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 0, parts[part]!)),
      ),
      ["DUPLICATE_ANSWER"],
    ],
    "a result names no call": [
      atOneOf("toolResult", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 1, resultPart("nobody's"))),
      ),
      ["ORPHAN_TOOL_RESULT"],
    ],
    "a call and what follows it change places": [
      atOneOf("toolCall", (messages, { message }) =>
        messages.toSpliced(message, 2, ...messages.slice(message, message + 2).reverse()),
      ),
      ["ORPHAN_TOOL_RESULT", "ORPHAN_APPROVAL_ANSWER"],
    ],
    "a call is doubled": [
      atOneOf("toolCall", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 0, parts[part]!)),
      ),
      ["DUPLICATE_CALL"],
    ],
    "a call is dropped": [
      atOneOf("toolCall", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 1)),
      ),
      // An approval that was for the call, or an answer that would be a message of its own now, may fail first.
      ["ORPHAN_TOOL_RESULT", "INVALID_FIELD"],
    ],
    "someone speaks between a call and its result": [
      atOneOf("toolCall", (messages, { message }) => messages.toSpliced(message + 1, 0, user("by the way"))),
      ["BAD_ROLE_ORDER"],
    ],
    "an approval answer is doubled": [
      atOneOf("approvalAnswer", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 0, parts[part]!)),
      ),
      ["DUPLICATE_ANSWER"],
    ],
    "an approval answer names no request": [
      atOneOf("approvalAnswer", (messages, { message, part }) =>
        withParts(messages, message, (parts) => parts.toSpliced(part, 1, decisionPart("nobody's"))),
      ),
      ["ORPHAN_APPROVAL_ANSWER"],
    ],
    "a system message comes late": [(messages) => [...messages, system("late")], ["BAD_ROLE_ORDER"]],
    "an assistant comes first": [(messages) => [assistant("hello"), ...messages], ["BAD_ROLE_ORDER"]],
    "a part is in a message that cannot hold it": [
      (messages, pick) =>
        withParts(messages, pick % messages.length, (parts) => [
          ...parts,
          wrongFor(messages[pick % messages.length]!),
        ]),
      ["PART_NOT_ALLOWED"],
    ],
  };

  function wrongFor(message: Message): Part {
    return message.role === MessageRole.TOOL ? textPart("x") : resultPart("x");
  }

  test.each(Object.entries(mutations))("a valid turn in which %s is refused", (_, [mutate, reasons]) => {
    let mutated = 0;
    fc.assert(
      fc.property(validTurn({ completed: true }), fc.nat(), (turn, pick) => {
        const messages = mutate(turn.messages, pick);
        if (!messages) return;
        mutated++;
        expect(reasons).toContain(judge(messages).reason);
      }),
      runs,
    );
    expect(mutated).toBeGreaterThan(100);
  });
});
