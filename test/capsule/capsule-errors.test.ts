import { status as Code } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CapsuleBody } from "../../src/contract/gen/quire/v1/capsule.js";
import { failure, failures, startTestServer, type TestServer } from "../support/server.js";
import { body, type CapsuleCalls, connectCapsules, learner } from "./capsule-calls.js";

let server: TestServer;
let capsules: CapsuleCalls;

beforeAll(async () => {
  server = await startTestServer();
  capsules = connectCapsules(server.address);
  await capsules.putCapsule({ name: "atlas", body: body() });
  await capsules.putCapsule({ name: "pupil", body: learner() });
});

afterAll(async () => {
  capsules?.close();
  await server?.stop();
});

describe("errors of capsules", () => {
  test("CAPSULE_NOT_FOUND: no capsule has this name, or not this version", async () => {
    const calls = [
      capsules.getCapsule({ name: "nobody" }),
      capsules.getCapsule({ name: "nobody", version: 4_294_967_295 }),
      capsules.deleteCapsule({ name: "nobody" }),
      capsules.listCapsuleVersions({ name: "nobody" }),
      capsules.recordOutcome({ capsule: "nobody", needed: { system: 1 }, score: 1 }),
      capsules.putCapsule({ name: "nobody", body: body(), expectedVersion: 1 }),
    ];
    for (const error of await failures(calls))
      expect(error).toMatchObject({ reason: "CAPSULE_NOT_FOUND", code: Code.NOT_FOUND });
    const version = await failure(capsules.getCapsule({ name: "atlas", version: 2 }));
    expect(version).toMatchObject({
      reason: "CAPSULE_NOT_FOUND",
      metadata: { capsule: "atlas", version: "2" },
    });
    expect((await capsules.listCapsules()).capsules.map(({ name }) => name)).toEqual(["atlas", "pupil"]);
  });

  test("VERSION_MISMATCH: the latest version is another than expected, and nothing is written", async () => {
    for (const expectedVersion of [0, 2, 4_294_967_295]) {
      const error = await failure(capsules.putCapsule({ name: "atlas", body: body(), expectedVersion }));
      expect(error).toMatchObject({
        reason: "VERSION_MISMATCH",
        code: Code.ABORTED,
        fields: ["expected_version"],
      });
      expect(error.metadata.version).toBe("1");
    }
    expect((await capsules.getCapsule({ name: "atlas" })).capsule!.version).toBe(1);
  });

  test("LEARNING_DISABLED: the capsule does not allow it, and no version is made", async () => {
    const error = await failure(
      capsules.recordOutcome({ capsule: "atlas", needed: { system: 1 }, score: 1 }),
    );
    expect(error).toMatchObject({ reason: "LEARNING_DISABLED", code: Code.FAILED_PRECONDITION });
    expect(error.metadata.capsule).toBe("atlas");
    expect((await capsules.getCapsule({ name: "atlas" })).capsule!.version).toBe(1);
  });

  test("PAGE_TOKEN_INVALID: the token is not one of this list, or of another capsule", async () => {
    await capsules.putCapsule({ name: "pupil", body: learner() });
    const { nextPageToken } = await capsules.listCapsules({ pageSize: 1 });
    const versions = await capsules.listCapsuleVersions({ name: "pupil", pageSize: 1 });
    const calls = [
      capsules.listCapsules({ pageToken: "nonsense" }),
      capsules.listCapsules({ pageToken: versions.nextPageToken }),
      capsules.listCapsuleVersions({ name: "pupil", pageToken: nextPageToken }),
      capsules.listCapsuleVersions({ name: "atlas", pageToken: versions.nextPageToken }),
    ];
    for (const { reason } of await failures(calls)) expect(reason).toBe("PAGE_TOKEN_INVALID");
  });
});

const shares = { system: 0.2, history: 0.2, memory: 0.2, tools: 0.2, buffer: 0.2 };
const lanes = (changes: object) => body({}, { learned: { lanePreferences: { ...shares, ...changes } } });
const settings = (changes: object) => body({}, { settings: changes });
const memory = (changes: object) => body({ memory: changes });
const model = (changes: object) => body({ model: changes });
const learned = "body.learned.lane_preferences";
const names = (count: number) => Array.from({ length: count }, (_, index) => `c${index}`);

const wrongBodies: readonly (readonly [string, CapsuleBody | undefined])[] = [
  ["body", undefined],
  ["body.persona", { persona: undefined, learned: undefined, governance: undefined, settings: undefined }],
  ["body.persona.core_prompt", body({ corePrompt: "" })],
  ["body.persona.core_prompt", body({ corePrompt: "é".repeat(524_289) })],
  [
    "body.persona.injection_prompts",
    body({ injectionPrompts: Array(65).fill({ trigger: "start", content: "x" }) }),
  ],
  ["body.persona.injection_prompts[0].trigger", body({ injectionPrompts: [{ content: "x" }] })],
  ["body.persona.injection_prompts[0].content", body({ injectionPrompts: [{ trigger: "start" }] })],
  ["body.persona.enabled_capabilities.names", body({ enabledCapabilities: { names: names(1_025) } })],
  ["body.persona.enabled_capabilities.names[1]", body({ enabledCapabilities: { names: ["a", ""] } })],
  ["body.persona.memory.recall_limit", memory({ recallLimit: 1_001 })],
  ["body.persona.memory.similarity_threshold", memory({ similarityThreshold: 1.01 })],
  ["body.persona.memory.similarity_threshold", memory({ similarityThreshold: Number.NaN })],
  ["body.persona.model.model", model({ model: "m".repeat(257) })],
  ["body.persona.model.provider", model({ provider: "p".repeat(65) })],
  ["body.persona.model.temperature", model({ temperature: 2.1 })],
  ["body.persona.model.temperature", model({ temperature: Number.POSITIVE_INFINITY })],
  ["body.persona.model.max_tokens", model({ maxTokens: 10_000_001 })],
  ["body.persona.model.thinking.budget_tokens", model({ thinking: { budgetTokens: 10_000_001 } })],
  ["body.persona.model.thinking.effort", model({ thinking: { effort: "e".repeat(65) } })],
  [`${learned}.system`, lanes({ system: -0.2, history: 0.6 })],
  [`${learned}.buffer`, lanes({ buffer: Number.NaN })],
  [learned, lanes({ buffer: 0.200_01 })],
  [learned, lanes({ buffer: 0 })],
  ["body.governance.denied_capabilities", body({}, { governance: { deniedCapabilities: names(1_025) } })],
  [
    "body.governance.denied_capabilities[0]",
    body({}, { governance: { deniedCapabilities: ["d".repeat(257)] } }),
  ],
  ["body.settings.activity_limit", settings({ activityLimit: 1_001 })],
  ["body.settings.compression_strategy", settings({ compressionStrategy: "magic" })],
  ["body.settings.summarizers.names[1]", settings({ summarizers: { names: ["openai", "gpt"] } })],
  ["body.settings.max_messages", settings({ maxMessages: 0 })],
  ["body.settings.max_messages", settings({ maxMessages: 1_000_001 })],
  ["body.settings.keep_turns", settings({ keepTurns: 0 })],
  ["body.settings.keep_turns", settings({ keepTurns: 101 })],
  ["body.settings.policy", settings({ policy: "UNRECOGNIZED" })],
  ["body.settings.reserve_response_tokens", settings({ reserveResponseTokens: 10_000_001 })],
  ["body.settings.reserve_tool_tokens", settings({ reserveToolTokens: 10_000_001 })],
  ["body.settings.model_limits", settings({ modelLimits: names(257).map((name) => ({ model: name })) })],
  ["body.settings.model_limits[1].model", settings({ modelLimits: [{ model: "m" }, { model: "m" }] })],
  ["body.settings.model_limits[0].model", settings({ modelLimits: [{ model: "" }] })],
  ["body.settings.model_limits[0].model", settings({ modelLimits: [{ model: "m-20250929" }] })],
  ["body.settings.model_limits[0].max_tokens", settings({ modelLimits: [{ model: "m", maxTokens: 0 }] })],
  [
    "body.settings.model_limits[0].memory_tokens",
    settings({ modelLimits: [{ model: "m", memoryTokens: 100_000_001 }] }),
  ],
  [
    "body.settings.model_limits[0].history_tokens",
    settings({ modelLimits: [{ model: "m", historyTokens: 100_000_001 }] }),
  ],
  [
    "body.settings.model_limits[0].reserve_response_tokens",
    settings({ modelLimits: [{ model: "m", reserveResponseTokens: 10_000_001 }] }),
  ],
];

describe("bounds of capsules", () => {
  test.each(wrongBodies)("INVALID_FIELD names %s (%#)", async (field, wrong) => {
    const error = await failure(capsules.putCapsule({ name: "refused", body: wrong }));
    expect(error).toMatchObject({ reason: "INVALID_FIELD", code: Code.INVALID_ARGUMENT, fields: [field] });
  });

  test("every field that is wrong is named", async () => {
    const error = await failure(
      capsules.putCapsule({ name: "refused", body: lanes({ memory: 1.2, history: -0.8 }) }),
    );
    expect(error.fields).toEqual([`${learned}.history`, `${learned}.memory`]);
  });

  test("nothing of a refused put is written", async () => {
    expect((await failure(capsules.getCapsule({ name: "refused" }))).reason).toBe("CAPSULE_NOT_FOUND");
  });

  test("lanes may be off by what a double cannot hold", async () => {
    const off = lanes({ buffer: 0.2 + 5e-7 });
    expect((await capsules.putCapsule({ name: "nearly", body: off })).capsule!.version).toBe(1);
  });

  test.each([
    ["name", () => capsules.putCapsule({ name: "", body: body() })],
    ["name", () => capsules.putCapsule({ name: "a\nb", body: body() })],
    ["name", () => capsules.getCapsule({ name: "n".repeat(257) })],
    ["name", () => capsules.deleteCapsule({})],
    ["name", () => capsules.listCapsuleVersions({})],
    ["request_id", () => capsules.putCapsule({ requestId: "r".repeat(129), name: "a", body: body() })],
    ["request_id", () => capsules.deleteCapsule({ requestId: "r".repeat(129), name: "a" })],
    ["page_size", () => capsules.listCapsules({ pageSize: 1_001 })],
    ["page_token", () => capsules.listCapsules({ pageToken: "t".repeat(2_049) })],
    ["page_size", () => capsules.listCapsuleVersions({ name: "atlas", pageSize: 1_001 })],
    ["capsule", () => capsules.recordOutcome({ needed: { system: 1 }, score: 1 })],
    ["needed", () => capsules.recordOutcome({ capsule: "pupil", score: 1 })],
    ["needed", () => capsules.recordOutcome({ capsule: "pupil", needed: {}, score: 1 })],
    ["score", () => capsules.recordOutcome({ capsule: "pupil", needed: { system: 1 }, score: -0.1 })],
    ["score", () => capsules.recordOutcome({ capsule: "pupil", needed: { system: 1 }, score: 1.1 })],
    ["score", () => capsules.recordOutcome({ capsule: "pupil", needed: { system: 1 }, score: Number.NaN })],
  ])("INVALID_FIELD names %s of other requests (%#)", async (field, request) => {
    expect(await failure(request())).toMatchObject({ reason: "INVALID_FIELD", fields: [field] });
  });
});
