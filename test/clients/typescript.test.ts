import { join } from "node:path";
import {
  Agent,
  anthropic,
  BodyFormat,
  Contexts,
  services as clientServices,
  connect,
  LeasedTurn,
  OnBusy,
  QuireError,
  type Tool,
  text,
  workerTool,
} from "quire-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { services } from "../../src/contract/services.js";
import { createQuire } from "../../src/index.js";
import { startTestServer } from "../support/server.js";
import { servedQuire, socketFolder, standIn } from "./support.js";

const said = (words: string) => [{ role: "MESSAGE_ROLE_USER" as const, parts: [text(words)] }];
const event = (session: string, words: string) => ({ session, event: { content: [text(words)] } });
const echo: Tool = {
  name: "echo",
  description: "Says it again.",
  schema: { type: "object", properties: { words: { type: "string" } } },
  run: ({ words }) => `You said ${words}.`,
};

async function failureOf(call: Promise<unknown>): Promise<QuireError> {
  const error = await call.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(QuireError);
  return error;
}

describe("calls of the TypeScript client", () => {
  test("it has every service and every method of the contract", () => {
    const names = (all: object) =>
      Object.entries(all).map(([name, { methods }]) => [name, Object.keys(methods).sort()]);
    expect(names(clientServices)).toEqual(names(services));
  });

  test("what fails is one error with reason, field and metadata", async () => {
    const { quire } = await servedQuire();
    const missing = await failureOf(quire.ledger.getSession({ session: "nobody" }));
    expect(missing).toMatchObject({
      code: "NOT_FOUND",
      reason: "SESSION_NOT_FOUND",
      metadata: { session: "nobody" },
    });
    const wrong = await failureOf(quire.ledger.listSessions({ pageSize: 5_000 }));
    expect(wrong).toMatchObject({ reason: "INVALID_FIELD", field: "page_size", fields: ["page_size"] });
  });

  test("a call waits for a server that is away, and a write that was repeated happened once", async () => {
    const folder = socketFolder();
    const listen = `unix:${join(folder, "quire.sock")}`;
    const database = `file:${join(folder, "quire.db")}`;
    const first = await startTestServer({ listen, database });
    const quire = connect(listen);
    onTestFinished(() => quire.close());
    await quire.ledger.createSession({ label: "s" });
    await first.stop();
    const requestId = "once";
    const recorded = quire.ledger.recordTurn({ requestId, session: "s", messages: said("Hello.") });
    const second = await startTestServer({ listen, database });
    onTestFinished(() => second.stop());
    const { turn } = await recorded;
    const again = await quire.ledger.recordTurn({ requestId, session: "s", messages: said("Hello.") });
    expect(again.turn?.id).toBe(turn!.id);
    expect((await quire.ledger.getSession({ session: "s" })).session?.depth).toBe(1);
  });

  test("a call whose time is up, or that is cancelled, says so", async () => {
    const quire = connect(`unix:${join(socketFolder(), "nobody.sock")}`, { timeoutMs: 200 });
    onTestFinished(() => quire.close());
    expect((await failureOf(quire.ledger.listSessions({}))).code).toMatch(/UNAVAILABLE|DEADLINE_EXCEEDED/);
    const { quire: served } = await servedQuire();
    const call = served.ledger.listSessions({}, { signal: AbortSignal.abort() });
    expect((await failureOf(call)).code).toBe("CANCELLED");
  });
});

describe("contexts of the TypeScript client", () => {
  test("only what is new is sent, and what is put together is the whole context", async () => {
    const { quire } = await servedQuire();
    await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas" } });
    const contexts = new Contexts(quire);
    for (let turn = 0; turn < 6; turn++) {
      const { context, sentMessages } = await contexts.assemble({ ...event("s", `Question ${turn}?`) });
      const whole = await quire.assembly.buildContext({
        context: { ...event("s", `Question ${turn}?`), dryRun: true },
      });
      expect(context.history).toEqual(whole.context?.history);
      expect(context.systemPrompt).toBe(whole.context?.systemPrompt);
      expect(context.tools).toEqual(whole.context?.tools);
      expect(context.hashes?.history).toEqual(whole.context?.hashes?.history);
      expect(sentMessages).toBe(turn === 0 ? 0 : 2);
      await quire.ledger.recordTurn({
        session: "s",
        assemblyId: context.assemblyId,
        messages: said(`Question ${turn}?`),
        result: { messages: [{ role: "MESSAGE_ROLE_ASSISTANT", parts: [text(`Answer ${turn}.`)] }] },
      });
    }
    contexts.forget("s");
    expect((await contexts.assemble(event("s", "And?"))).sentMessages).toBe(12);
  });
});

describe("turns of the TypeScript client", () => {
  test("tools, memory, a worker and streaming, over the wire and in process", async () => {
    const { baseUrl, provider } = await standIn();
    const { quire: served } = await servedQuire();
    const own = await createQuire({ database: `file:${join(socketFolder(), "own.db")}` });
    onTestFinished(() => own.close());
    await own.capsules.putCapsule({
      name: "atlas",
      body: {
        persona: {
          corePrompt: "You are Atlas.",
          memory: { tools: true },
          model: { model: "claude-sonnet-5-5" },
        },
      },
    });
    for (const quire of [served, own]) {
      await quire.memory.createBlock({
        block: { owner: { name: "atlas" }, label: "notes" },
        type: "BLOCK_TYPE_CORE",
      });
      const agent = new Agent(quire, {
        session: "s",
        capsule: "atlas",
        model: anthropic({ apiKey: "none", baseUrl }),
        tools: [echo, workerTool({ tools: [echo] })],
      });
      const pieces: string[] = [];
      const calls: string[] = [];
      const first = await agent.turn('echo {"words": "tea"}, then echo {"words": "milk"}', {
        onText: (piece) => pieces.push(piece),
        onCall: ({ name }) => calls.push(name),
      });
      expect(first).toMatchObject({ text: "You said tea. | You said milk.", steps: 3 });
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.join("")).toContain(first.text);
      expect(calls).toEqual(["echo", "echo"]);
      await agent.turn('memory_append {"label": "notes", "content": "Ada prefers tea."}');
      const { block } = await quire.memory.getBlock({ block: { owner: { name: "atlas" }, label: "notes" } });
      expect(block?.text).toBe("Ada prefers tea.");
      const task = JSON.stringify({ task: 'echo {"words": "for you"}' });
      expect((await agent.turn(`delegate ${task}`)).text).toBe("You said for you.");
      const { sessions } = await quire.ledger.listSessions({ parentSession: "s" });
      expect(sessions.map(({ subAgent }) => subAgent?.taskStatus)).toEqual(["TASK_STATUS_COMPLETED"]);
      const { text: failed } = await agent.turn('echo {"words": "x"} and nothing {"a": 1}');
      expect(failed).toBe("You said x.");
    }
    expect(provider.refusals).toEqual([]);
  });

  test("a context that is too long is reported and made again; a refusal for another reason fails the turn and leaves the thread alone", async () => {
    const { baseUrl, provider } = await standIn();
    const { quire } = await servedQuire();
    await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas" } });
    const long: Tool = { ...echo, name: "long", run: () => "Something was found here. ".repeat(60) };
    const agent = new Agent(quire, {
      session: "s",
      model: anthropic({ apiKey: "none", baseUrl }),
      tools: [long],
    });
    for (let turn = 0; turn < 12; turn++) await agent.turn(`(${turn}) long {}`);
    provider.limit = { tokens: Math.ceil(provider.lastTokens * 0.9), says: true };
    await agent.turn("long {}");
    expect(provider.overflows).toBe(1);
    const { session } = await quire.ledger.getSession({ session: "s" });
    expect(session).toMatchObject({ depth: 13, reportedLimits: [{ tokens: provider.limit.tokens }] });
    const broken = new Agent(quire, {
      session: "s",
      model: {
        format: BodyFormat.ANTHROPIC_MESSAGES,
        call: async () => Promise.reject(new Error("no model")),
      },
    });
    await expect(broken.turn("Hello.")).rejects.toThrow("no model");
    expect((await quire.ledger.getSession({ session: "s" })).session).toMatchObject({ depth: 13 });
    expect((await agent.turn("long {}")).turn.depth).toBe(14);
  });

  test("messages at the same time take turns; one that is interrupted stops its tools and says so", async () => {
    const { baseUrl } = await standIn();
    const { quire } = await servedQuire();
    await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas" } });
    const model = anthropic({ apiKey: "none", baseUrl });
    const agents = Array.from({ length: 4 }, () => new Agent(quire, { session: "s", model, tools: [echo] }));
    const outcomes = await Promise.all(agents.map((agent, at) => agent.turn(`echo {"words": "${at}"}`)));
    expect(outcomes.map(({ text }) => text)).toEqual([0, 1, 2, 3].map((at) => `You said ${at}.`));
    expect(outcomes.map(({ turn }) => turn.depth).sort()).toEqual([1, 2, 3, 4]);

    const begun = withResolvers<void>();
    const goOn = withResolvers<string>();
    const slow: Tool = {
      ...echo,
      name: "slow",
      run() {
        begun.resolve();
        return goOn.promise;
      },
    };
    const first = new Agent(quire, { session: "s", model, tools: [slow] }).turn("slow {}");
    await begun.promise;
    const second = new Agent(quire, { session: "s", model, tools: [echo], onBusy: OnBusy.INTERRUPT });
    expect((await second.turn("Stop.")).turn.depth).toBe(6);
    goOn.resolve("too late");
    expect((await failureOf(first)).reason).toBe("INTERRUPTED");
  });

  test("a lease can be taken by hand, and a busy session says who has it", async () => {
    const { quire } = await servedQuire();
    await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas" } });
    const turn = await LeasedTurn.begin(quire, { session: "s", lease: { holder: "me" } });
    const busy = await failureOf(LeasedTurn.begin(quire, { session: "s" }));
    expect(busy).toMatchObject({ reason: "SESSION_BUSY", metadata: { holder: "me", turn_id: turn.id } });
    await turn.append({ messages: said("Hello.") });
    expect((await turn.complete()).turn?.status).toBe("TURN_STATUS_COMPLETED");
    await (await LeasedTurn.begin(quire, { session: "s" })).fail("no");
    expect((await quire.ledger.getSession({ session: "s" })).session?.depth).toBe(1);
  });
});

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
