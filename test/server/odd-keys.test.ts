import { describe, expect, test } from "vitest";
import { parseKnobTable } from "../../src/capsule/knobs.js";
import { AgentEvent } from "../../src/contract/gen/quire/v1/assembly.js";
import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { fill } from "../../src/domain/prompt-texts.js";
import { extendCatalogue, parseCatalogue } from "../../src/models/catalogue.js";
import { parseContextSettings } from "../../src/server/validation/settings-file.js";
import { formats, renderedOf } from "../assembly/rendered-context.js";
import { serveDesk } from "../assembly/served-desk.js";
import { deskRequest, putCapsule } from "../assembly/travel-desk.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, toolResults, user } from "../support/messages.js";
import { failure } from "../support/server.js";

const keys = ["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty"];
/** Own properties, as JSON and other languages make them. */
const map = Object.fromEntries(keys.map((key) => [key, `value of ${key}`]));
const entries = (metadata: object) => Object.entries(metadata).sort();
const given = entries(map);

describe("names that objects have of their own are kept as they are given", () => {
  test("as keys of every map of a request", async () => {
    const { quire } = await serveDesk();
    const { session } = await quire.ledger.createSession({ label: "keys", metadata: map });
    expect(entries(session!.metadata)).toEqual(given);
    const messages = [user("hi"), assistant("hello")];
    const { turn } = await quire.ledger.recordTurn({ session: "keys", messages, details: { metadata: map } });
    expect(entries(turn!.details!.metadata)).toEqual(given);
    const read = recordedTurn(await quire.ledger.getTurn({ turnId: turn!.id }));
    expect(entries(read.turn!.details!.metadata)).toEqual(given);
    const forked = await quire.ledger.forkSession({
      session: "keys",
      label: "forked",
      metadata: map,
    });
    expect(entries(forked.session!.metadata)).toEqual(given);
    const updated = await quire.ledger.updateSession({
      session: "keys",
      setMetadata: { other: "1" },
      removeMetadata: ["toString"],
    });
    const left = entries({ ...map, other: "1" }).filter(([key]) => key !== "toString");
    expect(entries(updated.session!.metadata)).toEqual(left);
    const again = await quire.ledger.updateSession({ session: "keys", setMetadata: map });
    expect(entries(again.session!.metadata)).toEqual(entries({ ...map, other: "1" }));
    const listed = await quire.ledger.listSessions({ labelPrefix: "keys" });
    expect(entries(listed.sessions[0]!.metadata)).toEqual(entries({ ...map, other: "1" }));
    expect(({} as Record<string, unknown>).other).toBeUndefined();
  });

  test("as keys of an event's metadata", async () => {
    const event = AgentEvent.fromPartial({ metadata: map });
    expect(entries(AgentEvent.decode(AgentEvent.encode(event).finish()).metadata)).toEqual(given);
    const { quire } = await serveDesk();
    const context = { ...deskRequest, capsule: "atlas", event: { ...deskRequest.event, metadata: map } };
    expect((await quire.assembly.buildContext({ context })).context).toBeDefined();
  });

  test("a map's bounds hold for them, too", async () => {
    const { quire } = await serveDesk();
    const metadata = JSON.parse(`{"__proto__":"${"x".repeat(4_097)}"}`) as Record<string, string>;
    const refused = await failure(quire.ledger.createSession({ label: "keys", metadata }));
    expect(refused).toMatchObject({ reason: "INVALID_FIELD", fields: ['metadata["__proto__"]'] });
  });

  test.each(keys)("as names of what there is: %s", async (name) => {
    const { quire } = await serveDesk();
    await quire.ledger.createSession({ label: name });
    await quire.ledger.aliasSession({ alias: `${name}-alias`, session: name });
    await putCapsule(quire, name, {}, 9);
    await quire.workspaces.putWorkspace({ name, path: "/srv" });
    await quire.workspaces.putDocuments({ workspace: name, documents: [{ path: name, content: "Said." }] });
    const capabilities = [{ name, category: name, state: "CAPABILITY_STATE_ACTIVE" as const }];
    await quire.workspaces.putCapabilities({ workspace: name, snapshot: { capabilities } });
    const schema = `{"type":"object","properties":{"${name}":{"type":"array"}},"required":["${name}"],"anyOf":[{"properties":{"${name}":{"type":"array"}}}]}`;
    const tools = [{ name, inputSchemaJson: schema, capability: name, requiredPermissions: [name] }];
    const rules = [{ tool: name, rule: { $case: "maxCalls" as const, value: 2 } }];
    await quire.workspaces.putToolset({ workspace: name, toolset: { name, tools, rules } });
    const { toolset } = await quire.workspaces.getToolset({ workspace: name, name });
    expect(toolset!.tools).toMatchObject(tools);
    expect((await quire.workspaces.getDocument({ workspace: name, path: name })).document!.content).toBe(
      "Said.",
    );
    const value = { callId: name, name, argumentsJson: `{"${name}":{"${name}":1}}`, signature: "" };
    const call = Message.create({
      role: MessageRole.ASSISTANT,
      parts: [{ content: { $case: "toolCall", value } }],
    });
    await quire.ledger.recordTurn({
      session: `${name}-alias`,
      messages: [user("hi"), call, toolResults(name)],
    });
    for (const { format, model } of formats) {
      const context = {
        ...deskRequest,
        session: name,
        capsule: name,
        workspace: name,
        toolset: name,
        permissionsGranted: [name],
        model,
        render: format,
      };
      const { body } = await renderedOf(quire, context);
      const text = body.toString();
      expect(
        text.includes(`{"${name}":{"${name}":1}}`) || text.includes(`{\\"${name}\\":{\\"${name}\\":1}}`),
      ).toBe(true);
      expect(text).toMatch(new RegExp(`"properties":\\{"${name}":\\{"type":"array"`));
      expect(await quire.assembly.validateBody({ format, body })).toEqual({ problems: [] });
    }
  });

  test.each(keys)("a model, a provider and a summarizer that nobody knows: %s", async (name) => {
    const { quire } = await serveDesk();
    const context = { ...deskRequest, capsule: "atlas", model: name, provider: name };
    const built = await quire.assembly.buildContext({ context });
    expect(built.context!.model).toBe(name);
    const settings = { modelLimits: [{ model: name, maxTokens: 50_000 }] };
    const limited = await quire.assembly.buildContext({ context: { ...context, settings } });
    expect(limited.context!.tokenBudget!.modelLimit).toBe(50_000);
    const refused = await failure(
      quire.ledger.compact({ session: "desk", keepTurns: 1, summarizers: { names: [name] } }),
    );
    expect(refused.reason).toBe("INVALID_FIELD");
  });
});

describe("bodies whose objects have such keys", () => {
  test.each(formats)("are validated for $name as any other", async ({ format }) => {
    const { quire } = await serveDesk();
    const odd = '{"toString":1,"valueOf":1,"__proto__":{"type":"text"},"constructor":1}';
    const bodies = [
      odd,
      `{"model":${odd},"max_tokens":${odd},"tools":[{"name":${odd},"type":${odd}}],"tool_choice":{"type":${odd}},"messages":[{"role":${odd},"content":[{"type":${odd}}]}],"thinking":{"type":"enabled","budget_tokens":${odd}},"output_config":{"effort":${odd}}}`,
      `{"model":"m","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":${odd}},"messages":[{"role":"assistant","content":[{"type":"tool_use","id":${odd},"name":${odd}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":${odd}},{"type":"image","source":{"type":"base64","media_type":${odd}}}]}]}`,
      `{"generationConfig":{"thinkingConfig":{"thinkingLevel":${odd}}},"tools":[{"functionDeclarations":[{"name":${odd},"parameters":{"type":${odd}}}]}],"toolConfig":{"functionCallingConfig":{"mode":${odd},"allowedFunctionNames":[${odd}]}},"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"role":"user","parts":[{"functionResponse":{"name":${odd},"id":${odd}}}]}]}`,
      `{"model":"m","input":[{"type":${odd},"role":${odd}},{"type":"function_call","call_id":${odd}}],"reasoning":{"effort":${odd}}}`,
    ];
    for (const body of bodies) {
      const { problems } = await quire.assembly.validateBody({ format, body: Buffer.from(body) });
      expect(problems.length).toBeGreaterThan(0);
    }
  });
});

describe("an operator's files", () => {
  const entry = { contextTokens: 1_000, outputTokens: 100, vocabulary: null };
  const base = parseCatalogue(JSON.stringify({ fallback: entry, models: {} }));

  test("models may have every name but __proto__, which is refused", () => {
    const models = Object.fromEntries(keys.slice(1).map((name) => [name, entry]));
    const { models: known } = extendCatalogue(base, JSON.stringify({ models }));
    expect([...known.keys()].sort()).toEqual(keys.slice(1).sort());
    const refused = () => extendCatalogue(base, `{"models":{"__proto__":${JSON.stringify(entry)}}}`);
    expect(refused).toThrow("a model cannot be called __proto__");
  });

  test.each(keys)("settings and knobs that are none are refused: %s", (name) => {
    expect(() => parseContextSettings(`{"${name}":1}`)).toThrow(name);
    expect(() => parseKnobTable(`{"${name}":1}`)).toThrow(name);
  });

  test("a template has no places but those that it is given", () => {
    expect(fill("{{constructor}} {{__proto__}} {{task}}", { task: "t" })).toBe(
      "{{constructor}} {{__proto__}} t",
    );
  });
});
