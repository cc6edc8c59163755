import { describe, expect, onTestFinished, test } from "vitest";
import { Message, MessageRole, type Part } from "../../src/contract/gen/quire/v1/message.js";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { sha256 } from "../../src/domain/hash.js";
import { validateBodyBytes } from "../../src/rendering/render.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { failure } from "../support/server.js";
import { openTestQuire, type TestQuire } from "./engine.js";
import { fold, heldOf } from "./fold.js";
import { longSession, tightContext } from "./long-session.js";
import { eventsOf, forModel, formats, parsed, renderedOf } from "./rendered-context.js";
import { serveDesk } from "./served-desk.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "./travel-desk.js";

const context = { ...deskRequest, capsule: "atlas" };

async function openDesk(): Promise<TestQuire> {
  const quire = await openTestQuire();
  onTestFinished(() => quire.close());
  await setUpTravelDesk(quire);
  await putCapsule(quire, "atlas", {}, 9);
  return quire;
}

async function headOf(quire: TestQuire): Promise<string> {
  return (await quire.ledger.getSession({ session: "desk" })).session!.headTurnId;
}

/** Addresses of images, and which formats send them as images. */
const addresses: readonly (readonly [uri: string, ...takers: string[]])[] = [
  ["https://example.org/a.png", "anthropic", "openai-responses", "openai-chat", "gemini"],
  ["http://example.org/a.png", "openai-responses", "openai-chat"],
  ["gs://bucket/a.png", "gemini"],
  ["openai-file:file-1", "openai-responses"],
  ["anthropic-file:file_1", "anthropic"],
  ["file:///tmp/a.png"],
  ["s3://bucket/a.png"],
];

describe.each(formats)("a context as $name takes it", ({ name, format, model }) => {
  const asked = { ...context, model, render: format };

  test("has an image as an image, or a warning that it is not sent", async () => {
    const quire = await openDesk();
    for (const [uri, ...takers] of addresses) {
      const image = { source: { $case: "uri" as const, value: uri }, mediaType: "image/png" };
      const event = { content: [{ content: { $case: "image" as const, value: image } }] };
      const events = await eventsOf(quire, { ...asked, event });
      const { warnings } = events.at(-1)!.value as { readonly warnings: readonly unknown[] };
      const body = JSON.stringify(parsed(await renderedOf(quire, { ...asked, event })));
      const isSent = takers.includes(name);
      expect([uri, body.includes(uri.replace(/^(openai|anthropic)-file:/, ""))]).toEqual([uri, isSent]);
      const unsent = { kind: "WARNING_KIND_MEDIA_NOT_SENT", detail: expect.stringContaining(uri) };
      if (isSent) expect(warnings).not.toContainEqual(unsent);
      else expect(warnings).toContainEqual(unsent);
    }
  });

  test("comes without the messages of history under body_only, and is the same", async () => {
    const quire = await openDesk();
    const [whole, lean] = await Promise.all(
      [false, true].map((bodyOnly) => quire.assembly.buildContext({ context: { ...asked, bodyOnly } })),
    );
    expect(whole!.context!.history.length).toBeGreaterThan(0);
    expect(lean!.context!.history).toEqual([]);
    expect(lean!.rendered!.body.equals(whole!.rendered!.body)).toBe(true);
    const folded = await fold(quire.assembly.assemble({ context: { ...asked, bodyOnly: true } }));
    expect(folded.sentMessages).toBe(0);
    expect(folded.layer.turns).toBeGreaterThan(0);
    const bodiless = quire.assembly.buildContext({ context: { ...context, bodyOnly: true } });
    await expect(bodiless).rejects.toMatchObject({ violations: [{ field: "context.render" }] });
  });

  test("comes after the current message and before the end, and breaks none of the provider's rules", async () => {
    const quire = await openDesk();
    const events = await eventsOf(quire, asked);
    expect(events.slice(-3).map(({ $case }) => $case)).toEqual(["currentMessage", "rendered", "completed"]);
    const rendered = await renderedOf(quire, asked);
    expect(rendered.format).toBe(format);
    expect(rendered.hash.equals(sha256(rendered.body))).toBe(true);
    expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
    expect(await quire.assembly.validateBody({ format, body: rendered.body })).toEqual({ problems: [] });
    expect(rendered.body.toString()).toContain("Book both, please.");
  });

  test("is the same from BuildContext, from a dry run, for a caller that holds most of it, and from a replay", async () => {
    const quire = await openDesk();
    const held = await fold(quire.assembly.assemble({ context: asked }));
    const { body } = await renderedOf(quire, asked);
    const others = [
      (await quire.assembly.buildContext({ context: asked })).rendered!,
      await renderedOf(quire, { ...asked, dryRun: true }),
      await renderedOf(quire, { ...asked, have: heldOf(held) }),
      (await quire.assembly.replayContext({ assemblyId: held.completed.assemblyId, render: format }))
        .rendered!,
    ];
    for (const other of others) expect(other.body.toString()).toBe(body.toString());
  });

  test("goes on with a thread that other providers began, and gives each back only what is its own", async () => {
    const quire = await openDesk();
    await quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: await headOf(quire),
      messages: mixedTurn(),
    });
    const rendered = await renderedOf(quire, asked);
    expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
    const text = rendered.body.toString();
    const family = { anthropic: "anthropic", gemini: "google" }[name as string] ?? "openai";
    expect(text.includes("YW50aHJvcGljLTE=")).toBe(family === "anthropic");
    expect(text.includes("Z29vZ2xlLTE=")).toBe(family === "google");
    expect(text.includes("ZW5jcnlwdGVk")).toBe(name === "openai-responses");
    expect(text).toContain("Three seats are left.");
  });

  test("is valid for a worker, which sees its task and its own tools", async () => {
    const quire = await openDesk();
    const rendered = await renderedOf(quire, {
      ...asked,
      role: AgentRole.WORKER,
      task: "Find a room near the harbour.",
    });
    expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
    expect(rendered.body.toString()).toContain("Find a room near the harbour.");
    expect(rendered.body.toString()).toContain("Reports to the manager.");
    expect(rendered.body.toString()).not.toContain("Sends a message.");
  });

  test("is valid for a session without turns", async () => {
    const quire = await openDesk();
    await quire.ledger.createSession({ label: "new" });
    const rendered = await renderedOf(quire, { ...asked, session: "new" });
    expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
    const { messages, input, contents } = parsed(rendered);
    const said = ((messages ?? input ?? contents) as { role: string }[]).filter(
      ({ role }) => role !== "system" && role !== "developer",
    );
    expect(said.map(({ role }) => role)).toEqual(["user"]);
  });

  test("is valid while a turn is in a tool loop: its results come last, and there is no current message", async () => {
    const quire = await openDesk();
    const { turn } = await quire.ledger.beginTurn({
      session: "desk",
      parentTurnId: await headOf(quire),
      messages: [user("Where is my bag?"), toolCalls("call-8", "call-9"), toolResults("call-8", "call-9")],
    });
    const active = { ...asked, event: undefined, activeTurnId: turn!.id };
    const rendered = await renderedOf(quire, active);
    expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
    expect(rendered.body.toString().lastIndexOf("result of call-9")).toBeGreaterThan(
      rendered.body.toString().lastIndexOf("Where is my bag?"),
    );
    expect(rendered.body.toString()).not.toContain("Book both, please.");
  });

  test("names tools as the provider takes them, and says which is which", async () => {
    const quire = await openDesk();
    const cards = "wallet/cards list";
    await quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: await headOf(quire),
      messages: [user("Which cards?"), call("call-7", cards, ""), toolResults("call-7"), assistant("Two.")],
    });
    const tools = [
      { name: cards, description: "Lists the cards." },
      { name: "wallet_pay", description: "Pays." },
    ];
    const rendered = await renderedOf(quire, { ...asked, tools });
    expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
    const [[inBody]] = Object.entries(rendered.toolNames) as [[string, string]];
    expect(rendered.toolNames).toEqual({ [inBody]: cards });
    expect(rendered.body.toString()).not.toContain(`"${cards}"`);
    // Once where it is declared, and once where it was called.
    expect(rendered.body.toString().split(`"name":"${inBody}"`).length).toBeGreaterThan(2);
  });
});

test("there is no body where none is asked for", async () => {
  const quire = await openDesk();
  const events = await eventsOf(quire, context);
  expect(events.map(({ $case }) => $case)).not.toContain("rendered");
  const { rendered, context: built } = await quire.assembly.buildContext({ context });
  expect(rendered).toBeUndefined();
  const replayed = await quire.assembly.replayContext({ assemblyId: built!.assemblyId });
  expect(replayed.rendered).toBeUndefined();
});

test.each(formats)("a compacted session begins with its summary in the body of $name", async ({
  name,
  format,
  model,
}) => {
  const quire = await openTestQuire();
  onTestFinished(() => quire.close());
  await longSession(quire, "long", 30);
  const tight = forModel(tightContext("long", 1_500), model);
  const rendered = await renderedOf(quire, { ...tight, render: format });
  expect(validateBodyBytes({ format: name, bytes: rendered.body })).toEqual([]);
  const text = rendered.body.toString();
  expect(text).toContain("[Previous conversation summary]");
  expect(text).not.toContain('"Question 2:');
  expect(text.indexOf("[Previous conversation summary]")).toBeLessThan(text.indexOf("Question 30:"));
});

test("a body over the wire is the one that a replay gives, in any format", async () => {
  const { quire } = await serveDesk();
  for (const { format, model } of formats) {
    const { context: built, rendered } = await quire.assembly.buildContext({
      context: { ...context, model, render: format },
    });
    const again = await quire.assembly.replayContext({ assemblyId: built!.assemblyId, render: format });
    expect(again.rendered!.hash.equals(rendered!.hash)).toBe(true);
    expect(again.rendered!.body.equals(rendered!.body)).toBe(true);
    expect(again.context!.assemblyId).toBe(built!.assemblyId);
  }
});

test("a body for an API that does not serve the model is refused, from the start", async () => {
  const { quire } = await serveDesk();
  const asked = { ...context, model: "gpt-6-sol", render: BodyFormat.ANTHROPIC_MESSAGES };
  const { reason, fields, message } = await failure(quire.assembly.buildContext({ context: asked }));
  expect({ reason, fields }).toEqual({ reason: "INVALID_FIELD", fields: ["context.render"] });
  expect(message).toContain("Anthropic Messages, which does not serve gpt-6-sol");
  const { context: built } = await quire.assembly.buildContext({
    context: { ...context, model: "gpt-6-sol" },
  });
  const replay = { assemblyId: built!.assemblyId, render: BodyFormat.GEMINI };
  expect((await failure(quire.assembly.replayContext(replay))).fields).toEqual(["render"]);
  // Chat Completions are spoken by many, and a name that nobody knows may be anybody's.
  for (const [model, render] of [
    ["claude-opus-5-5", BodyFormat.OPENAI_CHAT],
    ["house-model", BodyFormat.ANTHROPIC_MESSAGES],
  ] as const) {
    const { rendered } = await quire.assembly.buildContext({ context: { ...context, model, render } });
    expect(rendered!.body.toString()).toContain(model);
  }
});

describe("ValidateBody", () => {
  test("says which rules a body breaks, and where", async () => {
    const { quire } = await serveDesk();
    const body = Buffer.from(JSON.stringify({ model: "claude-opus-5-5", messages: [] }));
    const { problems } = await quire.assembly.validateBody({ format: BodyFormat.ANTHROPIC_MESSAGES, body });
    expect(problems.map(({ path }) => path)).toContain("messages");
    for (const problem of problems)
      expect(problem).toMatchObject({
        rule: expect.stringMatching(/./),
        message: expect.stringMatching(/./),
      });
  });

  test("names at most 100 problems", async () => {
    const { quire } = await serveDesk();
    const messages = Array.from({ length: 300 }, () => ({ role: "nobody", content: 7 }));
    const body = Buffer.from(JSON.stringify({ model: "gpt-4o", messages }));
    const { problems } = await quire.assembly.validateBody({ format: BodyFormat.OPENAI_CHAT, body });
    expect(problems.length).toBe(100);
  });

  test("wants a format and a body", async () => {
    const { quire } = await serveDesk();
    const call = quire.assembly.validateBody({ format: BodyFormat.UNSPECIFIED, body: Buffer.alloc(0) });
    expect(await failure(call)).toMatchObject({ reason: "INVALID_FIELD", fields: ["format", "body"] });
  });
});

function call(callId: string, name: string, signature: string): Message {
  const value = { callId, name, argumentsJson: "{}", signature };
  return Message.create({
    role: MessageRole.ASSISTANT,
    parts: [{ content: { $case: "toolCall", value } }],
  });
}

/** A turn in which models of three families answered, each with what only its own takes back. */
function mixedTurn(): Message[] {
  const thinking = (provider: string, signature: string): Part => ({
    content: { $case: "thinking", value: { text: "Look first.", signature, provider } },
  });
  const reasoning: Part = {
    content: {
      $case: "opaque",
      value: {
        provider: "openai",
        kind: "reasoning",
        data: Buffer.from(
          JSON.stringify({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ZW5jcnlwdGVk" }),
        ),
      },
    },
  };
  const answer = (...parts: Part[]) => Message.create({ role: MessageRole.ASSISTANT, parts });
  const text = (value: string): Part => ({ content: { $case: "text", value: { text: value } } });
  const googleCall = call("call-6", "search", "Z29vZ2xlLTE=");
  return [
    user("Are there seats?"),
    answer(thinking("anthropic", "YW50aHJvcGljLTE="), ...toolCalls("call-4").parts),
    toolResults("call-4"),
    answer(reasoning, ...toolCalls("call-5").parts),
    toolResults("call-5"),
    answer(thinking("google", ""), ...googleCall.parts),
    toolResults("call-6"),
    answer(text("Three seats are left.")),
  ];
}
