import { describe, expect, test } from "vitest";
import { HistoryReplay } from "../../src/contract/gen/quire/v1/assembly.js";
import type { Quire } from "../../src/index.js";
import { validateBody } from "../../src/rendering/render.js";
import { exactModel, type PartialContext, putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { formats, parsed } from "../assembly/rendered-context.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";

type Message = ReturnType<typeof user>;

/** However busy the machine is. */
const recalling = { sources: [{ name: "memory", deadlineMs: 60_000 }] };

/** An agent with a thread of which only the newest turns are not summarized, and an open turn that reads a file. */
async function agentAtWork(session = "s") {
  const { quire, engine } = await openedEngine();
  await putAgent(quire);
  await quire.ledger.createSession({ label: session, defaults: { capsule: "atlas", model: exactModel } });
  const record = (...messages: readonly Message[]) =>
    quire.ledger.recordTurn({ session, messages: [...messages] });
  const lines = Array.from({ length: 12 }, (_, at) => `import { part${at} } from "../parts/part-${at}.js";`);
  await record(
    user("Write src/desk/view.ts, please."),
    assistant(`src/desk/view.ts begins so:\n${lines.join("\n")}`),
  );
  for (let at = 0; at < 6; at++)
    await record(user(`Small talk number ${at}.`), assistant(`Indeed, ${at}. I saw ../parts/part-3.js.`));
  await quire.ledger.compact({ session, keepTurns: 1, instructions: "" });
  const { turn } = await quire.ledger.beginTurn({ session, messages: [user("Go on, please.")] });
  const turnId = turn!.id;
  const append = (messages: readonly Message[], assemblyId?: string) =>
    quire.ledger.appendMessages({ turnId, messages: [...messages], ...(assemblyId ? { assemblyId } : {}) });
  return { quire, engine, turnId, append, session };
}

/** A step of the loop: the model reads a file by its path. */
function reads(callId: string, path: string): readonly [Message, Message] {
  const value = { callId, name: "read", argumentsJson: JSON.stringify({ path }), signature: "" };
  return [{ ...toolCalls(callId), parts: [{ content: { $case: "toolCall", value } }] }, toolResults(callId)];
}

async function build(quire: Quire, session: string, activeTurnId: string, more: PartialContext = {}) {
  const context = { session, activeTurnId, settings: recalling, ...more };
  return (await quire.assembly.buildContext({ context, includeCandidates: true })).context!;
}

type Built = Awaited<ReturnType<typeof build>>;

function toldIn({ currentMessage }: Built): string {
  expect(currentMessage?.parts ?? []).toEqual([]);
  const part = currentMessage?.contextParts[0]?.content;
  return part?.$case === "text" ? part.value.text : "";
}

const namesIn = (told: string) => /no longer shown: (.*)/u.exec(told)?.[1]?.split(", ") ?? [];

test("after the results of tools, names come back out of folded turns about what the model did last; what is shown does not", async () => {
  const { quire, turnId, append, session } = await agentAtWork();
  expect(toldIn(await build(quire, session, turnId))).toBe("");
  await append(reads("c1", "src/desk/view.ts"));
  const built = await build(quire, session, turnId);
  const told = toldIn(built);
  expect(told).toMatch(/^<memory id="names" from="earlier messages" time="[^"]+">\n.*\n<\/memory>$/u);
  expect(namesIn(told)).toContain("../parts/part-7.js");
  // A turn that is shown says this one, and the model itself that.
  for (const shown of ["../parts/part-3.js", "src/desk/view.ts"]) expect(namesIn(told)).not.toContain(shown);
  expect(built.sources.map(({ name, state }) => [name, state])).toEqual([["memory", "SOURCE_STATE_OK"]]);
  const candidate = built.candidates.find(({ name }) => name.includes("names"))!;
  expect(candidate).toMatchObject({ kept: true, lane: "BUDGET_LANE_MEMORY" });
  expect(built.tokenBudget!.used!.total).toBeLessThanOrEqual(built.tokenBudget!.available);
  const { context: replayed } = await quire.assembly.replayContext({ assemblyId: built.assemblyId });
  expect(replayed).toEqual({ ...built, candidates: [] });
});

test("nothing comes back where nothing is folded, where recall is off, or where the model did nothing that was spoken of", async () => {
  const { quire, turnId, append, session } = await agentAtWork();
  await append(reads("c1", "zebra/crossing.txt"));
  expect(toldIn(await build(quire, session, turnId))).toBe("");
  await append(reads("c2", "src/desk/view.ts"));
  const off = { settings: { sources: [{ name: "memory", enabled: false }] } };
  expect(toldIn(await build(quire, session, turnId, off))).toBe("");
  await quire.ledger.createSession({ label: "new", defaults: { capsule: "atlas", model: exactModel } });
  const { turn } = await quire.ledger.beginTurn({ session: "new", messages: [user("Read it.")] });
  await quire.ledger.appendMessages({ turnId: turn!.id, messages: [...reads("c1", "src/desk/view.ts")] });
  const alone = await build(quire, "new", turn!.id);
  expect(alone.currentMessage).toBeUndefined();
  expect(alone.sources).toEqual([]);
});

test("what was told stays where it was, is not told again, and is left out by CLEAN", async () => {
  const { quire, turnId, append, session } = await agentAtWork();
  await append(reads("c1", "src/desk/view.ts"));
  const first = await build(quire, session, turnId);
  const [call, result] = reads("c2", "src/desk/view.ts");
  await append([call], first.assemblyId);
  await append([result]);
  const second = await build(quire, session, turnId);
  expect(second.history.at(-2)!.contextParts).toEqual(first.currentMessage!.contextParts);
  expect(namesIn(toldIn(second)).filter((name) => namesIn(toldIn(first)).includes(name))).toEqual([]);
  const clean = await build(quire, session, turnId, { replay: HistoryReplay.CLEAN });
  expect(JSON.stringify(clean.history)).not.toContain("no longer shown");
  await quire.ledger.completeTurn({ turnId, result: { messages: [assistant("Done.")] } });
});

test("only the answer that comes next carries what was told, a provider's response as well", async () => {
  const { quire, turnId, append, session } = await agentAtWork();
  await append(reads("c1", "src/desk/view.ts"));
  const { assemblyId, currentMessage } = await build(quire, session, turnId);
  const choices = [
    { index: 0, finish_reason: "stop", message: { role: "assistant", content: "First half," } },
  ];
  const body = Buffer.from(
    JSON.stringify({ id: "r", object: "chat.completion", model: exactModel, choices }),
  );
  await quire.ledger.appendMessages({
    turnId,
    assemblyId,
    response: { format: formats.find(({ name }) => name === "openai-chat")!.format, body },
  });
  await append([assistant("second half.")], assemblyId);
  const { history } = await build(quire, session, turnId);
  expect(history.slice(-2).map(({ contextParts }) => contextParts)).toEqual([
    currentMessage!.contextParts,
    [],
  ]);
});

describe.each(formats)("in a body for $name", ({ name, format, model }) => {
  test("what was told stands in the last result, and each body begins with all of the one before", async () => {
    const { quire, turnId, append, session } = await agentAtWork();
    const asked = {
      session,
      activeTurnId: turnId,
      settings: recalling,
      model,
      render: format,
      event: undefined,
    };
    const bodies: string[] = [];
    let assemblyId: string | undefined;
    for (const [at, path] of ["src/desk/view.ts", "src/desk/view.ts", "other.ts"].entries()) {
      const [call, result] = reads(`c${at}`, path);
      await append([call], assemblyId);
      await append([result]);
      const { context, rendered } = await quire.assembly.buildContext({ context: asked });
      ({ assemblyId } = context!);
      expect(validateBody(name, parsed(rendered!))).toEqual([]);
      bodies.push(spoken(parsed(rendered!)));
    }
    expect(bodies[0]).toContain("no longer shown");
    for (const [at, body] of bodies.entries())
      if (at > 0) expect(body.startsWith(bodies[at - 1]!.slice(0, -1))).toBe(true);
    const told = (JSON.parse(`${bodies.at(-1)!}`) as object[])
      .map((one) => JSON.stringify(one))
      .filter((one) => one.includes("no longer shown"));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain("result of c0");
  });
});

/** The list of a body's messages, without the marks of caches. */
function spoken(body: unknown): string {
  const { messages, input, contents } = body as Record<string, unknown>;
  return JSON.stringify(messages ?? input ?? contents, (key, value: unknown) =>
    key === "cache_control" || key === "prompt_cache_breakpoint" ? undefined : value,
  );
}
