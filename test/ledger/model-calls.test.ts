import { afterAll, describe, expect, test } from "vitest";
import { TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type TokenUsage, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { contextRequest, putAgent } from "../assembly/agent.js";
import { serveFolder } from "../assembly/served-desk.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { failure } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const databases = [
  { name: "SQLite", isMissing: false, flags: async () => ({}) },
  {
    name: "PostgreSQL",
    isMissing: postgres === undefined,
    flags: async () => ({ database: await postgres!.createDatabase() }),
  },
];

function usage(factor: number): TokenUsage {
  return {
    inputTokens: 1_000 * factor,
    outputTokens: 100 * factor,
    cachedInputTokens: 10 * factor,
    cacheWriteTokens: 5 * factor,
    reasoningTokens: factor,
  };
}

const lost = "0198c0de-0000-7000-8000-000000000001";
const most = 0xffff_ffff;

describe.each(databases)("usage is kept for each model call, on $name", ({ isMissing, flags }) => {
  /** A server with an agent and a session, over the wire. */
  async function served() {
    const { quire, engine } = await serveFolder(tempFolder(), await flags());
    await putAgent(quire);
    await quire.ledger.createSession({ label: "loop" });
    const assembled = async (activeTurnId = "") => {
      const context = { ...contextRequest("loop", "claude-haiku-4-5"), activeTurnId };
      return (await quire.assembly.buildContext({ context })).context!.assemblyId;
    };
    const read = async (turnId: string) => recordedTurn(await quire.ledger.getTurn({ turnId }));
    const listed = async () => (await quire.ledger.listTurns({ session: "loop" })).turns;
    const rows = () => engine.database.reader.modelCall.count();
    return { quire, assembled, read, listed, rows };
  }

  test.skipIf(isMissing)(
    "a loop reports each call with its messages, and the turn's usage is their sum",
    async () => {
      const { quire, assembled, read, listed } = await served();
      const first = await assembled();
      const begun = await quire.ledger.beginTurn({
        session: "loop",
        messages: [user("Look.")],
        assemblyId: first,
      });
      const turnId = begun.turn!.id;
      expect(begun.turn).toMatchObject({ usage: undefined, modelCallCount: 0, modelCalls: [] });
      const called = await quire.ledger.appendMessages({
        turnId,
        messages: [toolCalls("a")],
        usage: usage(1),
        requestId: "r1",
      });
      expect(called.turn).toMatchObject({ usage: usage(1), modelCallCount: 1, modelCalls: [] });
      await quire.ledger.appendMessages({ turnId, messages: [toolResults("a")] });
      const second = await assembled(turnId);
      const done = await quire.ledger.completeTurn({
        turnId,
        assemblyId: second,
        result: { messages: [assistant("Found.")], usage: usage(2) },
      });
      expect(done.turn).toMatchObject({ usage: usage(3), modelCallCount: 2, modelCalls: [] });
      const { turn, result } = await read(turnId);
      const ofModel = { model: "claude-haiku-4-5", provider: "anthropic" };
      const calls = [
        { ...ofModel, usage: usage(1), assemblyId: undefined, createTime: expect.any(Date) },
        { ...ofModel, usage: usage(2), assemblyId: second, createTime: expect.any(Date) },
      ];
      expect(turn).toEqual({ ...done.turn, modelCalls: calls });
      expect(result).toMatchObject({ usage: usage(3), modelCalls: turn!.modelCalls });
      expect(await listed()).toEqual([turn]);
    },
  );

  test.skipIf(isMissing)("the same append again is answered as before and counts once", async () => {
    const { quire, read } = await served();
    const { turn } = await quire.ledger.beginTurn({ session: "loop", messages: [user("Look.")] });
    const request = { turnId: turn!.id, messages: [assistant("Yes.")], usage: usage(1), requestId: "r1" };
    const answer = await quire.ledger.appendMessages(request);
    expect(await quire.ledger.appendMessages(request)).toEqual(answer);
    expect(await failure(quire.ledger.appendMessages({ ...request, usage: usage(2) }))).toMatchObject({
      reason: "REQUEST_ID_REUSED",
    });
    expect((await read(turn!.id)).turn).toMatchObject({ usage: usage(1), modelCallCount: 1 });
  });

  test.skipIf(isMissing)("a turn in one piece reports a sum, or each call", async () => {
    const { quire, assembled, read } = await served();
    const assemblyId = await assembled();
    const one = await quire.ledger.recordTurn({
      session: "loop",
      messages: [user("Look.")],
      result: { messages: [toolCalls("a"), toolResults("a"), assistant("Found.")], usage: usage(7) },
      assemblyId,
    });
    expect((await read(one.turn!.id)).turn!.modelCalls).toMatchObject([{ usage: usage(7), assemblyId }]);
    const messages = [user("Look."), toolCalls("a"), toolResults("a"), assistant("Found.")];
    const modelCalls = [
      { usage: usage(1), assemblyId },
      { usage: usage(2), model: "gpt-4o", provider: "openai" },
    ];
    const each = await quire.ledger.recordTurn({
      session: "loop",
      parentTurnId: one.turn!.id,
      messages,
      details: { model: "claude-haiku-4-5", provider: "anthropic" },
      result: { modelCalls },
    });
    expect(each).toMatchObject({ warnings: [], turn: { usage: usage(3), modelCallCount: 2 } });
    const { turn, result } = await read(each.turn!.id);
    expect(turn!.modelCalls).toMatchObject([
      { usage: usage(1), model: "claude-haiku-4-5", provider: "anthropic", assemblyId },
      { usage: usage(2), model: "gpt-4o", provider: "openai", assemblyId: undefined },
    ]);
    // What was read can be written again.
    const again = await quire.ledger.recordTurn({ session: "loop", parentTurnId: turn!.id, result });
    const copied = await read(again.turn!.id);
    expect(copied.result!.modelCalls).toEqual(
      result!.modelCalls.map((call) => ({ ...call, createTime: expect.any(Date) })),
    );
  });

  test.skipIf(isMissing)(
    "what does not add up, or is another session's, is refused, and nothing is written",
    async () => {
      const { quire, assembled, listed } = await served();
      const messages = [user("Look."), assistant("Found.")];
      const record = (result: object, session = "loop") =>
        failure(quire.ledger.recordTurn({ session, messages, result }));
      const modelCalls = [{ usage: usage(1) }, { usage: usage(2) }];
      expect(await record({ usage: usage(2), modelCalls })).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["result.usage"],
      });
      expect(await record({ modelCalls: [{ model: "gpt-4o" }] })).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["result.model_calls[0].usage"],
      });
      const large = { usage: { ...usage(0), inputTokens: most } };
      expect(await record({ modelCalls: [large, large] })).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["result.usage"],
      });
      await quire.ledger.createSession({ label: "other" });
      const assemblyId = await assembled();
      expect(
        await record({ modelCalls: [...modelCalls, { usage: usage(1), assemblyId }] }, "other"),
      ).toMatchObject({
        reason: "INVALID_FIELD",
        fields: ["result.model_calls[2].assembly_id"],
      });
      expect(await listed()).toEqual([]);
      const { turn } = await quire.ledger.beginTurn({ session: "loop", messages: [user("Look.")] });
      const append = (call: { readonly usage: TokenUsage }) =>
        quire.ledger.appendMessages({ turnId: turn!.id, messages: [assistant("a")], ...call });
      await append(large);
      expect(await failure(append({ usage: usage(1) }))).toMatchObject({ fields: ["usage"] });
      const [open] = (await quire.ledger.listTurns({ session: "loop", scope: TurnScope.WRITTEN })).turns;
      expect(open).toMatchObject({ messageCount: 2, modelCallCount: 1, usage: large.usage });
    },
  );

  test.skipIf(isMissing)("an assembly that is no longer known is a warning", async () => {
    const { quire, read } = await served();
    const result = { modelCalls: [{ usage: usage(1), assemblyId: lost }] };
    const messages = [user("Look."), assistant("Found.")];
    const recorded = await quire.ledger.recordTurn({ session: "loop", messages, result });
    expect(recorded.warnings).toEqual([
      { kind: "WARNING_KIND_ASSEMBLY_UNKNOWN", detail: expect.stringContaining(lost) },
    ]);
    expect((await read(recorded.turn!.id)).turn!.modelCalls).toMatchObject([{ assemblyId: lost }]);
  });

  test.skipIf(isMissing)(
    "a failed turn cost what it cost, and a deleted session takes its calls with it",
    async () => {
      const { quire, read, rows } = await served();
      const messages = [user("Look."), assistant("Found.")];
      const recorded = await quire.ledger.recordTurn({
        session: "loop",
        messages,
        result: { usage: usage(1) },
      });
      const { turn } = await quire.ledger.beginTurn({
        session: "loop",
        parentTurnId: recorded.turn!.id,
        messages: [user("Look.")],
      });
      await quire.ledger.appendMessages({ turnId: turn!.id, messages: [assistant("Hm.")], usage: usage(1) });
      await quire.ledger.completeTurn({
        turnId: turn!.id,
        status: TurnStatus.FAILED,
        result: { usage: usage(1) },
      });
      expect((await read(turn!.id)).turn).toMatchObject({
        status: TurnStatus.FAILED,
        usage: usage(2),
        modelCallCount: 2,
      });
      expect(await rows()).toBe(3);
      await quire.ledger.deleteSession({ session: "loop" });
      expect(await rows()).toBe(0);
      expect(await failure(quire.ledger.getTurn({ turnId: turn!.id }))).toMatchObject({
        reason: "TURN_NOT_FOUND",
      });
    },
  );

  test.skipIf(isMissing)("a list names the first 64 calls of a turn, and GetTurn all of them", async () => {
    const { quire, read, listed } = await served();
    const modelCalls = Array.from({ length: 1_024 }, (_, index) => ({ usage: usage(index) }));
    const messages = [user("Look."), assistant("Found.")];
    const { turn } = await quire.ledger.recordTurn({ session: "loop", messages, result: { modelCalls } });
    const [first] = await listed();
    expect(first!.modelCallCount).toBe(1_024);
    expect(first!.modelCalls.map((call) => call.usage)).toEqual(
      modelCalls.slice(0, 64).map((call) => call.usage),
    );
    const whole = (await read(turn!.id)).turn!;
    expect(whole.modelCalls.map((call) => call.usage)).toEqual(modelCalls.map((call) => call.usage));
    expect(whole.usage!.inputTokens).toBe((1_000 * 1_023 * 1_024) / 2);
  });
});
