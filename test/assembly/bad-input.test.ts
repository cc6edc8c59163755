import { describe, expect, test } from "vitest";
import { BudgetPolicy } from "../../src/contract/gen/quire/v1/context_settings.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { toolCalls, user } from "../support/messages.js";
import { failure, type WireError } from "../support/server.js";
import { fold } from "./fold.js";
import { type ServedDesk, serveDesk } from "./served-desk.js";
import { deskRequest } from "./travel-desk.js";

const base = { ...deskRequest, capsule: "atlas" };

/** Everything that an assembly or a put could have written. */
async function rows({ engine }: ServedDesk): Promise<readonly number[]> {
  await engine.assembly.receipts.flush();
  const { reader } = engine.database;
  return Promise.all([
    reader.receipt.count(),
    reader.receiptBlob.count(),
    reader.turn.count(),
    reader.capsuleVersion.count(),
  ]);
}

/** The errors of both calls that assemble, which are the same and leave nothing behind. */
async function refused(desk: ServedDesk, more: object): Promise<WireError> {
  const before = await rows(desk);
  const context = { ...base, ...more };
  const built = await failure(desk.quire.assembly.buildContext({ context }));
  const streamed = await failure(fold(desk.quire.assembly.assemble({ context })));
  expect(streamed).toEqual(built);
  expect(await rows(desk)).toEqual(before);
  return built;
}

describe("a context that cannot be made", () => {
  const cases: Readonly<Record<string, readonly [object, object]>> = {
    "of an unknown session": [
      { session: "nobody" },
      { reason: "SESSION_NOT_FOUND", metadata: { session: "nobody" } },
    ],
    "for an unknown capsule": [
      { capsule: "nobody" },
      { reason: "CAPSULE_NOT_FOUND", metadata: { capsule: "nobody" } },
    ],
    "for an unknown version of a capsule": [{ capsuleVersion: 7 }, { reason: "CAPSULE_NOT_FOUND" }],
    "for an unknown role": [{ role: 99 }, { reason: "INVALID_FIELD", fields: ["context.role"] }],
    "for an unknown replay": [{ replay: 99 }, { reason: "INVALID_FIELD", fields: ["context.replay"] }],
    "in an unknown workspace": [
      { workspace: "nowhere", toolset: "" },
      { reason: "WORKSPACE_NOT_FOUND", metadata: { workspace: "nowhere" } },
    ],
    "with an unknown toolset": [
      { toolset: "none" },
      { reason: "TOOLSET_NOT_FOUND", metadata: { toolset: "none", workspace: "desk" } },
    ],
    "with a toolset of no workspace": [
      { workspace: "" },
      { reason: "INVALID_FIELD", fields: ["context.toolset"] },
    ],
    "without an event": [{ event: undefined }, { reason: "INVALID_FIELD", fields: ["context.event"] }],
    "for an event without content": [
      { event: { content: [] } },
      { reason: "INVALID_FIELD", fields: ["context.event.content"] },
    ],
    "with an unknown active turn": [
      { activeTurnId: "0198c0de-0000-7000-8000-000000000001" },
      { reason: "TURN_NOT_FOUND" },
    ],
    "with a budget of nothing": [
      { maxContextTokens: 0 },
      { reason: "INVALID_FIELD", fields: ["context.max_context_tokens"] },
    ],
    "with reserves that leave nothing": [
      { settings: { reserveResponseTokens: 200_000 } },
      {
        reason: "CONTEXT_TOO_LARGE",
        metadata: {
          available: "0",
          model_limit: "128000",
          reserve_response: "200000",
          reserve_tools: "16384",
        },
      },
    ],
  };

  test.each(Object.entries(cases))("%s, says why", async (_, [request, error]) => {
    expect(await refused(await serveDesk(), request)).toMatchObject(error);
  });

  test("because the system prompt alone is larger than the window, says what each part needs", async () => {
    const desk = await serveDesk();
    const error = await refused(desk, { baseInstructions: "word ".repeat(150_000) });
    expect(error).toMatchObject({
      reason: "CONTEXT_TOO_LARGE",
      metadata: { open_calls: "0", available: String(128_000 - 8_192 - 16_384) },
    });
    expect(Number(error.metadata.system)).toBeGreaterThan(128_000);
    expect(Number(error.metadata.tools)).toBeGreaterThan(0);
    expect(Number(error.metadata.event)).toBeGreaterThan(0);
  });

  test("because open calls do not fit, says what they need", async () => {
    const desk = await serveDesk();
    const { session } = await desk.quire.ledger.getSession({ session: "desk" });
    const ids = Array.from({ length: 200 }, (_, index) => `call-${index}`);
    const messages = [user("All of them."), toolCalls(...ids)];
    await desk.quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: session!.headTurnId,
      messages,
      status: TurnStatus.AWAITING,
    });
    const error = await refused(desk, { maxContextTokens: 1_000 });
    expect(error).toMatchObject({ reason: "CONTEXT_TOO_LARGE", metadata: { available: "1000" } });
    expect(Number(error.metadata.open_calls)).toBeGreaterThan(1_000);
  });

  test("because a lane is over under STRICT_FAIL, names the lane", async () => {
    const desk = await serveDesk();
    const settings = { policy: BudgetPolicy.STRICT_FAIL };
    const exceeded = async (more: object) => (await refused(desk, { settings, ...more })).metadata;
    expect(await exceeded({ maxContextTokens: 100 })).toMatchObject({ lane: "tools", limit: "15" });
    expect(await exceeded({ maxContextTokens: 1_000, toolset: "" })).toMatchObject({
      lane: "system",
      limit: "100",
    });
    const short = { toolset: "", workspace: "", maxContextTokens: 300 };
    expect(await exceeded(short)).toMatchObject({ lane: "buffer", limit: "30" });
    const event = { content: [{ content: { $case: "text" as const, value: { text: "Hi" } } }] };
    expect(await exceeded({ ...short, event, maxContextTokens: 310 })).toMatchObject({
      lane: "history",
      limit: "108",
    });
    const { context } = await desk.quire.assembly.buildContext({
      context: { ...base, ...short, event, maxContextTokens: 400, settings },
    });
    expect(context!.historyLayer).toMatchObject({ turns: 3, droppedTurns: 0 });
  });
});

describe("a capsule that cannot be", () => {
  const lanes = { system: 0.2, history: 0.2, memory: 0.2, tools: 0.2, buffer: 0.2 };
  const cases: Readonly<Record<string, readonly [object, string]>> = {
    "without a core prompt": [{ persona: {} }, "body.persona.core_prompt"],
    "whose lanes do not sum to 1": [
      { persona: { corePrompt: "x" }, learned: { lanePreferences: { ...lanes, buffer: 0.5 } } },
      "body.learned.lane_preferences",
    ],
    "with a negative lane": [
      { persona: { corePrompt: "x" }, learned: { lanePreferences: { ...lanes, system: -0.2, buffer: 0.6 } } },
      "body.learned.lane_preferences.system",
    ],
  };

  test.each(Object.entries(cases))("%s, is refused whole", async (_, [body, field]) => {
    const desk = await serveDesk();
    const before = await rows(desk);
    const error = await failure(desk.quire.capsules.putCapsule({ name: "broken", body }));
    expect(error).toMatchObject({ reason: "INVALID_FIELD", fields: expect.arrayContaining([field]) });
    expect(await failure(desk.quire.capsules.getCapsule({ name: "broken" }))).toMatchObject({
      reason: "CAPSULE_NOT_FOUND",
    });
    expect(await rows(desk)).toEqual(before);
  });
});
