import { describe, expect, test } from "vitest";
import { learnUsage } from "../../src/receipts/learn-usage.js";
import { CalibrationStore } from "../../src/storage/assembly/calibration-store.js";
import { contextRequest, putAgent } from "../assembly/agent.js";
import { serveFolder } from "../assembly/served-desk.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";

const model = "claude-haiku-4-5";

/** A session whose contexts are large enough to say something about tokens, over the wire. */
async function served() {
  const { quire, engine } = await serveFolder(tempFolder());
  await putAgent(quire);
  await quire.ledger.createSession({ label: "loop" });
  const long = user("a seat by the window on the morning flight, ".repeat(400));
  await quire.ledger.recordTurn({ session: "loop", messages: [long, assistant("Noted.")] });
  /** A context, and what a provider would charge for it that makes twice as many tokens of it. */
  const assembled = async (activeTurnId = "") => {
    const context = { ...contextRequest("loop", model), activeTurnId };
    const { assemblyId, tokenBudget } = (await quire.assembly.buildContext({ context })).context!;
    return { assemblyId, usage: { inputTokens: 2 * tokenBudget!.countedTokens! } };
  };
  const head = async () => (await quire.ledger.getSession({ session: "loop" })).session!.headTurnId;
  const store = new CalibrationStore(engine.database);
  const evidence = async () => {
    await engine.assembly.calibrator.flush();
    return (await store.find("default", model)).own?.evidence ?? 0;
  };
  /** The server learns when it has answered, and nobody waits for it. */
  const learnt = (calls: number) => expect.poll(evidence, { timeout: 60_000 }).toBe(calls);
  /** Learns from a turn again, and waits for it. */
  const learnAgain = async (turnId: string) => {
    const { turn } = recordedTurn(await quire.ledger.getTurn({ turnId }));
    await learnUsage(engine.assembly, "default", turn!, turn!.modelCalls);
  };
  return { quire, assembled, head, evidence, learnt, learnAgain };
}

describe("what providers charge teaches how a model counts", () => {
  test("call by call in a loop that names the assembly of each", async () => {
    const { quire, assembled, head, learnt } = await served();
    const first = await assembled();
    const { turn } = await quire.ledger.beginTurn({
      session: "loop",
      parentTurnId: await head(),
      messages: [user("Look.")],
      assemblyId: first.assemblyId,
    });
    const turnId = turn!.id;
    // The first call is the turn's assembly's; it need not be named again.
    await quire.ledger.appendMessages({ turnId, messages: [toolCalls("c0")], usage: first.usage });
    for (let call = 1; call <= 5; call++) {
      await quire.ledger.appendMessages({ turnId, messages: [toolResults(`c${call - 1}`)] });
      const messages = [toolCalls(`c${call}`)];
      await quire.ledger.appendMessages({ turnId, messages, ...(await assembled(turnId)) });
    }
    const last = await assembled(turnId);
    const result = { messages: [toolResults("c5"), assistant("Found.")], usage: last.usage };
    await quire.ledger.completeTurn({ turnId, result, assemblyId: last.assemblyId });
    await learnt(7);
    const { models } = await quire.assembly.listModels({ pageSize: 1_000 });
    expect(models.find(({ name }) => name === model)!.ratio).toBeCloseTo(2, 3);
    // Whoever counts texts counts by the same ratio.
    const counted = await quire.assembly.countTokens({ texts: ["a seat by the window"], model });
    expect(counted.ratio).toBeCloseTo(2, 3);
  });

  test("and from a turn in one piece that names each call's assembly, or whose only call is its own", async () => {
    const { quire, assembled, head, learnt } = await served();
    const messages = [user("Look."), toolCalls("a"), toolResults("a"), assistant("Found.")];
    const modelCalls = [await assembled(), await assembled()];
    await quire.ledger.recordTurn({
      session: "loop",
      parentTurnId: await head(),
      messages,
      result: { modelCalls },
    });
    await learnt(2);
    const { assemblyId, usage } = await assembled();
    await quire.ledger.recordTurn({
      session: "loop",
      parentTurnId: await head(),
      messages: [user("Look."), assistant("Found.")],
      result: { usage },
      assemblyId,
    });
    await learnt(3);
  });

  test("but not from a sum over several calls, nor from a call of another model", async () => {
    const { quire, assembled, head, evidence, learnAgain } = await served();
    const { assemblyId, usage } = await assembled();
    const sum = await quire.ledger.recordTurn({
      session: "loop",
      parentTurnId: await head(),
      messages: [user("Look."), toolCalls("a"), toolResults("a"), assistant("Found.")],
      result: { usage },
      assemblyId,
    });
    const other = await quire.ledger.recordTurn({
      session: "loop",
      parentTurnId: await head(),
      messages: [user("Look."), assistant("Found.")],
      result: { modelCalls: [{ usage, assemblyId, model: "claude-opus-4-5" }] },
    });
    const { turn } = await quire.ledger.beginTurn({
      session: "loop",
      parentTurnId: await head(),
      messages: [user("Look.")],
      assemblyId,
    });
    const turnId = turn!.id;
    await quire.ledger.appendMessages({ turnId, messages: [toolCalls("a"), toolResults("a")] });
    const last = await assembled(turnId);
    const result = { messages: [assistant("Found.")], usage: last.usage };
    await quire.ledger.completeTurn({ turnId, result, assemblyId: last.assemblyId });
    for (const id of [sum.turn!.id, other.turn!.id, turnId]) await learnAgain(id);
    expect(await evidence()).toBe(0);
  });
});
