import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { HistoryView } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { rawBatches } from "../server/raw-history.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, toolResults, user } from "../support/messages.js";
import { failure, startTestServer, type TestServer } from "../support/server.js";
import { type HistoryRequest, type LedgerCalls, ledgerCalls } from "./ledger-calls.js";
import { asksFor, callPart, onePartOfEach, said, textPart } from "./message-parts.js";

let server: TestServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  server = await startTestServer();
  ledger = ledgerCalls(server.ledger);
});

afterAll(() => server.stop());

const ofSession = (value: string) => ({ thread: { $case: "session" as const, value } });
const ofTurn = (value: string) => ({ thread: { $case: "turnId" as const, value } });

const textOf = (message: Message) =>
  message.parts.map((part) => (part.content?.$case === "text" ? part.content.value.text : "")).join();

async function texts(request: HistoryRequest, calls = ledger): Promise<string> {
  return (await calls.history(request)).messages.map(textOf).join(" ");
}

/** Turns named by a letter and a number, on a session; gives their ids, the oldest first. */
async function thread(session: string, letter: string, length: number, parentTurnId = ""): Promise<string[]> {
  const made: string[] = [];
  for (let index = 1; index <= length; index++) {
    made.push((await ledger.turn(session, made.at(-1) ?? parentTurnId, [user(`${letter}${index}`)])).id);
  }
  return made;
}

describe("StreamHistory: which turns", () => {
  let a: readonly string[];
  let b: readonly string[];

  beforeAll(async () => {
    await ledger.session({ label: "a" });
    a = await thread("a", "a", 5);
    await ledger.forkSession({ at: { $case: "turnId", value: a[2]! }, label: "b" });
    b = await thread("b", "b", 3, a[2]);
    await ledger.forkSession({ at: { $case: "turnId", value: b[0]! }, label: "c" });
    await thread("c", "c", 2, b[0]);
  });

  test("a session's thread runs through the threads that it was forked from, the oldest first", async () => {
    expect(await texts(ofSession("a"))).toBe("a1 a2 a3 a4 a5");
    expect(await texts(ofSession("b"))).toBe("a1 a2 a3 b1 b2 b3");
    expect(await texts(ofSession("c"))).toBe("a1 a2 a3 b1 c1 c2");
  });

  test("a turn's thread ends at that turn, whoever goes on from it", async () => {
    expect(await texts(ofTurn(a[0]!))).toBe("a1");
    expect(await texts(ofTurn(b[1]!))).toBe("a1 a2 a3 b1 b2");
  });

  test("the first batch says what the thread is", async () => {
    const { thread: summary, batches } = await ledger.history({ ...ofSession("c"), lastTurns: 2 });
    const [head] = (await ledger.listTurns({ session: "c", pageSize: 1 })).turns;
    expect(summary).toEqual({
      headTurnId: head!.id,
      depth: 6,
      chainHash: head!.chainHash,
      streamedTurns: 2,
      compactionId: "",
    });
    expect(batches.slice(1).every((batch) => batch.thread === undefined)).toBe(true);
  });

  test("a session without turns has a thread without turns", async () => {
    await ledger.session({ label: "nothing yet" });
    const { thread: summary, messages, batches } = await ledger.history(ofSession("nothing yet"));
    expect(summary).toEqual({
      headTurnId: "",
      depth: 0,
      chainHash: Buffer.alloc(0),
      streamedTurns: 0,
      compactionId: "",
    });
    expect([messages, batches.length]).toEqual([[], 1]);
  });

  test("last_turns keeps the end, after_turn_id what follows; both, what both keep", async () => {
    expect(await texts({ ...ofSession("c"), lastTurns: 1 })).toBe("c2");
    expect(await texts({ ...ofSession("c"), lastTurns: 3 })).toBe("b1 c1 c2");
    expect(await texts({ ...ofSession("c"), lastTurns: 4_294_967_295 })).toBe("a1 a2 a3 b1 c1 c2");
    expect(await texts({ ...ofSession("c"), afterTurnId: a[2]! })).toBe("b1 c1 c2");
    expect(await texts({ ...ofSession("c"), afterTurnId: b[0]! })).toBe("c1 c2");
    expect(await texts({ ...ofSession("c"), afterTurnId: a[0]!, lastTurns: 2 })).toBe("c1 c2");
    expect(await texts({ ...ofSession("c"), afterTurnId: b[0]!, lastTurns: 5 })).toBe("c1 c2");
    expect(await texts({ ...ofTurn(a[4]!), afterTurnId: a[4]! })).toBe("");
  });

  test("after_turn_id must be a finished turn of the thread", async () => {
    const open = (await ledger.beginTurn({ session: "a", parentTurnId: a[4]! })).turn!;
    const refusal = (afterTurnId: string, session = "c") =>
      failure(ledger.history({ ...ofSession(session), afterTurnId }));
    expect(await refusal(a[3]!)).toMatchObject({ reason: "INVALID_FIELD", fields: ["after_turn_id"] });
    expect(await refusal(b[1]!)).toMatchObject({ reason: "INVALID_FIELD", fields: ["after_turn_id"] });
    expect(await refusal(a[0]!, "nothing yet")).toMatchObject({ reason: "INVALID_FIELD" });
    expect(await refusal(open.id)).toMatchObject({ reason: "TURN_NOT_FINISHED" });
    expect(await refusal("0198c0de-0000-7000-8000-000000000001")).toMatchObject({ reason: "TURN_NOT_FOUND" });
  });

  test("without compactions every view is the whole thread", async () => {
    const views = [HistoryView.UNSPECIFIED, HistoryView.FULL, HistoryView.EFFECTIVE];
    for (const view of views) expect(await texts({ ...ofSession("a"), view })).toBe("a1 a2 a3 a4 a5");
  });

  test("the thread must be there, and named", async () => {
    expect(await failure(ledger.history(ofSession("nobody")))).toMatchObject({ reason: "SESSION_NOT_FOUND" });
    expect(await failure(ledger.history(ofTurn("nothing")))).toMatchObject({ reason: "TURN_NOT_FOUND" });
    expect(await failure(ledger.history({}))).toMatchObject({ reason: "INVALID_FIELD", fields: ["thread"] });
  });

  test("the thread is fixed when the call begins", async () => {
    const { id } = await ledger.session();
    const large = user("x".repeat(60_000));
    let head = "";
    for (let index = 0; index < 40; index++) head = (await ledger.turn(id, head, [large])).id;
    const stream = server.ledger.streamHistory({
      ...ofSession(id),
      view: HistoryView.FULL,
      afterTurnId: "",
      lastTurns: 0,
      assemblyId: "",
    });
    let seen = 0;
    for await (const batch of stream) {
      if (seen === 0) await ledger.turn(id, head, [user("too late")]);
      seen += (batch as { messages: readonly Message[] }).messages.length;
    }
    expect(seen).toBe(40);
  });
});

describe("StreamHistory: what it gives back", () => {
  test("every kind of part comes back as it was given, in the history and in the turn", async () => {
    const { id } = await ledger.session();
    const odd = "\ufeffBOM, NUL \0, \u{1F327}, \u202e, <|endoftext|>, \r\n";
    const [text, thinking, , , , , image, file, opaque] = onePartOfEach;
    const messages = [
      said(MessageRole.SYSTEM, textPart(odd)),
      {
        ...said(MessageRole.USER, text!, image!, file!, opaque!),
        contextParts: [textPart(odd), image!],
        contextJson: '{ "b":1, "a" : [ ] }',
      },
      said(MessageRole.ASSISTANT, thinking!, opaque!, callPart("c"), {
        content: {
          $case: "toolCall",
          value: { callId: "d", name: "n", argumentsJson: `{not json ${odd}`, signature: odd },
        },
      }),
      toolResults("d", "c"),
      assistant(""),
    ];
    const turn = await ledger.turn(id, "", messages);
    const given = (message: Message) => {
      const { role, parts, contextParts, contextJson } = message;
      return { role, parts, contextParts, contextJson };
    };
    const { messages: read } = await ledger.history(ofSession(id));
    expect(read.map(given)).toEqual(messages.map((message) => given(Message.create(message))));
    expect(recordedTurn(await ledger.getTurn({ turnId: turn.id })).result!.messages).toEqual(read);
    expect(read[1]!.contextO200kTokens).toBeGreaterThan(0);
    expect(read.every((message) => message.turnId === turn.id && message.createTime instanceof Date)).toBe(
      true,
    );
  });

  test("a long thread is the same from the cache, from the database and in part", async () => {
    const { id } = await ledger.session();
    let head = "";
    for (let index = 0; index < 150; index++)
      head = (await ledger.turn(id, head, [user(`${index}`), asksFor(textPart("ok"))])).id;
    const uncached = await startTestServer({ database: server.config.database, historyCacheBytes: 0 });
    const tiny = await startTestServer({ database: server.config.database, historyCacheBytes: 20_000 });
    onTestFinished(async () => {
      await uncached.stop();
      await tiny.stop();
    });
    for (const lastTurns of [3, 70, 0, 64, 65, 130, 1]) {
      const request = { ...ofSession(id), lastTurns };
      const expected = await rawBatches(uncached.ledger, request);
      expect(await rawBatches(server.ledger, request)).toEqual(expected);
      expect(await rawBatches(tiny.ledger, request)).toEqual(expected);
    }
    expect(await texts({ ...ofSession(id), lastTurns: 2 })).toBe("148 ok 149 ok");
  });
});
