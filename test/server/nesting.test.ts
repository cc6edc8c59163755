import { describe, expect, test } from "vitest";
import { RecordTurnRequest } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { PutToolsetRequest } from "../../src/contract/gen/quire/v1/workspace_service.js";
import { maxBodyDepth, maxJsonDepth } from "../../src/domain/json-scan.js";
import { ledgerService } from "../../src/server/handlers/ledger.js";
import { workspaceService } from "../../src/server/handlers/workspace.js";
import { formats, renderedOf } from "../assembly/rendered-context.js";
import { type ServedDesk, serveDesk } from "../assembly/served-desk.js";
import { deskRequest } from "../assembly/travel-desk.js";
import { toolResults, user } from "../support/messages.js";
import { failure } from "../support/server.js";

const objects = (levels: number) => `${'{"a":'.repeat(levels)}0${"}".repeat(levels)}`;
const schema = (levels: number) => `{"type":"object","x":${objects(levels - 1)}}`;
const megabytes = 1024 * 1024;

/** Arguments that are too deep, and which of them are not whole. */
const tooDeep: readonly (readonly [string, string])[] = [
  ["one level too many", objects(maxJsonDepth + 1)],
  ["5,000 levels", objects(5_000)],
  ["a megabyte of open brackets", "[".repeat(megabytes)],
  ["a megabyte of balanced brackets", "[".repeat(megabytes / 2) + "]".repeat(megabytes / 2)],
  ["brackets behind an escaped quote", `{"a":"\\"","b":${objects(5_000)}}`],
  ["brackets behind an escaped backslash", `{"a":"\\\\","b":${objects(5_000)}}`],
];

const allowed: readonly (readonly [string, string])[] = [
  ["the most levels there may be", objects(maxJsonDepth)],
  ["brackets in a string", `{"a":"${"[".repeat(50_000)}"}`],
  ["brackets in a string with escaped quotes", `{"a":"${'\\"['.repeat(10_000)}"}`],
  ["many objects side by side", `{"a":[${"{},".repeat(10_000)}0]}`],
  ["what is no JSON", `${"]".repeat(5_000)}${"[".repeat(5_000)}`],
];

function callWith(argumentsJson: string, callId = "deep-1"): Message {
  const value = { callId, name: "search", argumentsJson, signature: "" };
  return Message.create({ role: MessageRole.ASSISTANT, parts: [{ content: { $case: "toolCall", value } }] });
}

async function headOf({ quire }: ServedDesk): Promise<string> {
  return (await quire.ledger.getSession({ session: "desk" })).session!.headTurnId;
}

const turnWith = (argumentsJson: string) => [user("Look."), callWith(argumentsJson), toolResults("deep-1")];
const field = (index: number) => `messages[${index}].parts[0].tool_call.arguments_json`;

describe("JSON that is nested too deep is refused, with its field and the limit", () => {
  test("in the arguments of a call, whoever carries them", async () => {
    const desk = await serveDesk();
    const { ledger } = desk.quire;
    const parentTurnId = await headOf(desk);
    const begun = await ledger.beginTurn({ session: "desk", parentTurnId, messages: [user("Look.")] });
    const turnId = begun.turn!.id;
    for (const [, json] of tooDeep) {
      const messages = turnWith(json);
      const calls = [
        [() => ledger.recordTurn({ session: "desk", parentTurnId, messages }), field(1)],
        [() => ledger.beginTurn({ session: "desk", parentTurnId, messages }), field(1)],
        [() => ledger.appendMessages({ turnId, messages: [callWith(json)] }), field(0)],
        [() => ledger.completeTurn({ turnId, result: { messages: [callWith(json)] } }), `result.${field(0)}`],
      ] as const;
      for (const [call, path] of calls) {
        const refused = await failure(call());
        expect(refused).toMatchObject({ reason: "INVALID_FIELD", fields: [path] });
        expect(refused.message).toContain("is nested more than 128 levels deep");
      }
    }
    expect(await headOf(desk)).toBe(parentTurnId);
  });

  test("in a message's context_json", async () => {
    const desk = await serveDesk();
    const message = { ...user("Look."), contextJson: objects(maxJsonDepth + 1) };
    const call = desk.quire.ledger.recordTurn({ session: "desk", messages: [message] });
    expect(await failure(call)).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["messages[0].context_json"],
    });
  });

  test("in the schema of a tool, of a toolset or of one request", async () => {
    const { quire } = await serveDesk();
    for (const json of [schema(maxJsonDepth + 1), schema(5_000), "{".repeat(262_144)]) {
      const tools = [{ name: "deep", inputSchemaJson: json }];
      const refused = [
        await failure(quire.workspaces.putToolset({ workspace: "desk", toolset: { name: "deep", tools } })),
        await failure(renderedOf(quire, { ...deskRequest, capsule: "atlas", tools })),
        await failure(quire.assembly.buildContext({ context: { ...deskRequest, capsule: "atlas", tools } })),
      ];
      const fields = refused.map(({ reason, fields }) => [reason, ...fields]);
      expect(fields).toEqual([
        ["INVALID_FIELD", "toolset.tools[0].input_schema_json"],
        ["INVALID_FIELD", "context.tools[0].input_schema_json"],
        ["INVALID_FIELD", "context.tools[0].input_schema_json"],
      ]);
    }
  });

  test.each(formats)("in a body for $name, small or large", async ({ format }) => {
    const { quire } = await serveDesk();
    const bodies = [
      objects(maxBodyDepth + 1),
      objects(5_000),
      "[".repeat(10 * megabytes),
      "[".repeat(5 * megabytes) + "]".repeat(5 * megabytes),
    ];
    for (const body of bodies) {
      const refused = await failure(quire.assembly.validateBody({ format, body: Buffer.from(body) }));
      expect(refused).toMatchObject({ reason: "INVALID_FIELD", fields: ["body"] });
      expect(refused.message).toBe("body: is nested more than 256 levels deep");
    }
  });
});

describe("JSON that is not too deep", () => {
  test.each(allowed)("is kept as it is, and rendered for every provider: %s", async (_, json) => {
    const desk = await serveDesk();
    const parentTurnId = await headOf(desk);
    await desk.quire.ledger.recordTurn({ session: "desk", parentTurnId, messages: turnWith(json) });
    await expectRendered(desk);
  });

  test("is taken in the schema of a tool at the bound", async () => {
    const { quire } = await serveDesk();
    const tools = [{ name: "deep", inputSchemaJson: schema(maxJsonDepth) }];
    await quire.workspaces.putToolset({ workspace: "desk", toolset: { name: "travel", tools } });
    for (const { format, model } of formats) {
      const { body } = await renderedOf(quire, { ...deskRequest, capsule: "atlas", model, render: format });
      expect(body.toString()).toContain(objects(maxJsonDepth - 1));
      expect(await quire.assembly.validateBody({ format, body })).toEqual({ problems: [] });
    }
  });

  test("is a body at the bound, and ten megabytes of brackets in a text are one", async () => {
    const { quire } = await serveDesk();
    const format = BodyFormat.GEMINI;
    const bodies = [
      `{"labels":${objects(maxBodyDepth - 1)},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
      `{"contents":[{"role":"user","parts":[{"text":"${"[".repeat(10 * megabytes)}"}]}]}`,
      `{"contents":[{"role":"user","parts":[{"text":"${'\\"['.repeat(3 * megabytes)}"}]}]}`,
    ];
    for (const body of bodies) {
      expect(await quire.assembly.validateBody({ format, body: Buffer.from(body) })).toEqual({
        problems: [],
      });
    }
  });
});

/** Every provider's body is made, is one that it takes, and holds the call. */
async function expectRendered({ quire }: ServedDesk): Promise<void> {
  for (const { format, model } of formats) {
    const context = { ...deskRequest, capsule: "atlas", model, render: format, maxContextTokens: 900_000 };
    const { body } = await renderedOf(quire, context);
    expect(body.toString()).toContain("result of deep-1");
    expect(await quire.assembly.validateBody({ format, body })).toEqual({ problems: [] });
  }
}

describe("what an earlier version let in", () => {
  /** Calls the handlers as they are behind validation. */
  const tenant = { tenantId: "default", signal: new AbortController().signal };

  test("a session with 5,000 levels in its rows is rendered for every provider, compacted and read", async () => {
    const desk = await serveDesk();
    const { ledger, assembly } = desk.engine;
    const json = objects(5_000);
    const opaque = (provider: string) => ({
      content: { $case: "opaque" as const, value: { provider, kind: "x", data: Buffer.from(json) } },
    });
    const [asked, called, answered] = turnWith(json);
    const parts = [...called!.parts, opaque("anthropic"), opaque("openai"), opaque("google")];
    const result = {
      callId: "deep-1",
      content: [{ content: { $case: "text" as const, value: { text: json } } }],
    };
    const messages = [asked!, { ...called!, parts }, { ...answered!, contextJson: json }];
    const record = ledgerService(ledger, assembly).rpcs.recordTurn;
    if (record.kind !== "unary") throw new Error("RecordTurn is unary");
    const request = { session: "desk", parentTurnId: await headOf(desk), messages };
    await record.handle(RecordTurnRequest.fromPartial(request), tenant);
    await expectRendered(desk);
    const second = {
      session: "desk",
      parentTurnId: await headOf(desk),
      messages: [
        user("Once more."),
        callWith("{}", "deep-2"),
        {
          role: MessageRole.TOOL,
          parts: [{ content: { $case: "toolResult" as const, value: { ...result, callId: "deep-2" } } }],
        },
      ],
    };
    await desk.quire.ledger.recordTurn(second);
    await expectRendered(desk);
    await desk.quire.ledger.compact({ session: "desk", keepTurns: 1 });
    const context = { ...deskRequest, capsule: "atlas" };
    expect((await desk.quire.assembly.buildContext({ context })).context?.history.length).toBeGreaterThan(0);
  });

  test("a toolset with 5,000 levels is sent as a tool without properties", async () => {
    const desk = await serveDesk();
    const put = workspaceService(desk.engine.workspaces).rpcs.putToolset;
    if (put.kind !== "unary") throw new Error("PutToolset is unary");
    const tools = [{ name: "deep", inputSchemaJson: schema(5_000) }];
    await put.handle(
      PutToolsetRequest.fromPartial({ workspace: "desk", toolset: { name: "travel", tools } }),
      tenant,
    );
    for (const { format, model } of formats) {
      const { body } = await renderedOf(desk.quire, {
        ...deskRequest,
        capsule: "atlas",
        model,
        render: format,
      });
      expect(body.toString()).toContain('"deep"');
      expect(await desk.quire.assembly.validateBody({ format, body })).toEqual({ problems: [] });
    }
  });
});
