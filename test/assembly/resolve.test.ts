import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CandidateRule, InputKind } from "../../src/contract/gen/quire/v1/assembly.js";
import { FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { WarningKind } from "../../src/domain/warning.js";
import type { Quire } from "../../src/index.js";
import { tempFolder } from "../support/temp-folder.js";
import { serveDesk } from "./served-desk.js";
import { deskRequest, putCapsule } from "./travel-desk.js";

const base = { ...deskRequest, capsule: "atlas" };

async function contextOf(quire: Quire, more: object = {}) {
  const { context } = await quire.assembly.buildContext({ context: { ...base, ...more } });
  const { receipt } = await quire.assembly.getReceipt({ assemblyId: context!.assemblyId });
  return { context: context!, receipt: receipt! };
}

describe("what a request comes to", () => {
  test("prime.md is on top of all, and a change of it applies to the next assembly", async () => {
    const primeFile = join(tempFolder(), "prime.md");
    const { quire } = await serveDesk({ primeFile });
    expect((await contextOf(quire)).context.systemPrompt).toMatch(/^# Rules/);
    writeFileSync(primeFile, "Obey the operator.");
    const { context, receipt } = await contextOf(quire);
    expect(context.systemPrompt).toMatch(/^Obey the operator\.\n\n# Rules/);
    expect(context.sections[0]).toMatchObject({ name: "override", offset: 0 });
    expect(receipt.inputs).toContainEqual(
      expect.objectContaining({ kind: InputKind.OVERRIDE, name: "prime.md" }),
    );
    writeFileSync(primeFile, "Obey the other operator.");
    expect((await contextOf(quire)).context.systemPrompt).toMatch(/^Obey the other operator\./);
  });

  test("a model that is not known gets 128,000 tokens and a warning, in the answer and in the receipt", async () => {
    const { quire } = await serveDesk();
    const { context, receipt } = await contextOf(quire, { model: "mystery-99" });
    expect(context.tokenBudget).toMatchObject({ modelLimit: 128_000, exact: false });
    expect(context.warnings).toEqual([
      { kind: WarningKind.MODEL_UNKNOWN, detail: expect.stringContaining('"mystery-99" is unknown') },
    ]);
    expect(receipt.warnings).toEqual(context.warnings);
    expect((await contextOf(quire, { model: "gpt-4o-20240806" })).context).toMatchObject({
      warnings: [],
      tokenBudget: { exact: true },
    });
  });

  test("knobs out of range are taken as the nearest, with a warning", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "wild", { persona: { knobs: { intelligenceLevel: 40, autonomyLevel: -3 } } });
    const { context } = await contextOf(quire, { capsule: "wild" });
    expect(context.warnings).toEqual([
      { kind: WarningKind.KNOB_CLAMPED, detail: expect.stringContaining("intelligence_level is 40") },
      { kind: WarningKind.KNOB_CLAMPED, detail: expect.stringContaining("autonomy_level is -3") },
    ]);
    expect(context.modelConfig).toMatchObject({
      temperature: undefined,
      recallLimit: 50,
      toolApproval: "TOOL_APPROVAL_ALL",
    });
  });

  test("a tool that is taken away is in the receipt, with the rule that took it", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "narrow", {
      persona: { enabledCapabilities: { names: ["flights", "payments", "slack", "reply", "spawn"] } },
    });
    const rulesFor = async (more: object) => {
      const { context, receipt } = await contextOf(quire, { capsule: "narrow", ...more });
      const candidates = receipt.candidates.filter(({ name }) => name.startsWith("tool "));
      expect(candidates.filter(({ kept }) => kept).map(({ name }) => name)).toEqual(
        context.tools.map(({ name }) => `tool ${name}`),
      );
      return Object.fromEntries(
        candidates.map(({ name, rule, detail }) => [name.slice(5), detail ? [rule, detail] : [rule]]),
      );
    };
    expect(await rulesFor({ role: AgentRole.MANAGER })).toEqual({
      search: [CandidateRule.NEVER_CUT],
      book: [CandidateRule.PERMISSION, "booking.write"],
      rooms: [CandidateRule.NOT_ENABLED],
      pay: [CandidateRule.DENIED],
      send: [CandidateRule.NEVER_CUT],
      reply: [CandidateRule.ROLE, "only a worker replies to a manager"],
      spawn: [CandidateRule.NEVER_CUT],
    });
    expect(
      await rulesFor({ role: AgentRole.WORKER, task: "t", scope: { capabilities: ["hotels"] } }),
    ).toMatchObject({
      search: [CandidateRule.SCOPE],
      send: [CandidateRule.ROLE, "a worker sends no messages"],
      reply: [CandidateRule.NEVER_CUT],
      spawn: [CandidateRule.NEVER_CUT],
    });
  });

  test("the server's settings hold where neither capsule nor request says otherwise", async () => {
    const contextSettingsFile = join(tempFolder(), "settings.json");
    writeFileSync(
      contextSettingsFile,
      JSON.stringify({ reserveResponseTokens: 5_000, reserveToolTokens: 6_000 }),
    );
    const { quire } = await serveDesk({ contextSettingsFile });
    await putCapsule(quire, "set", { settings: { reserveToolTokens: 7_000 } });
    expect((await contextOf(quire)).context.tokenBudget).toMatchObject({
      reserveResponse: 5_000,
      reserveTools: 6_000,
    });
    const { context } = await contextOf(quire, {
      capsule: "set",
      settings: { reserveResponseTokens: 9_000 },
    });
    expect(context.tokenBudget).toMatchObject({ reserveResponse: 9_000, reserveTools: 7_000 });
  });

  test("the request's settings are stronger than the capsule's, and those than the defaults", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "set", {
      settings: { activityLimit: 1, includeDescriptions: false, keepTurns: 2, reserveResponseTokens: 1_000 },
    });
    const { context } = await contextOf(quire, { capsule: "set" });
    const text = JSON.stringify(context.currentMessage);
    expect(text).not.toContain("Mia opened the app");
    expect(text).toContain("Mia looked at flights");
    expect(context.tools.every(({ description }) => description === "")).toBe(true);
    expect(context.tokenBudget).toMatchObject({ reserveResponse: 1_000, reserveTools: 16_384 });
    const settings = {
      activityLimit: 2,
      includeDescriptions: true,
      includeSchemas: false,
      reserveResponseTokens: 2_000,
    };
    const { context: stronger } = await contextOf(quire, { capsule: "set", settings });
    expect(JSON.stringify(stronger.currentMessage)).toContain("Mia opened the app");
    expect(stronger.tools[0]).toMatchObject({ description: "Looks for flights.", inputSchemaJson: "" });
    expect(stronger.tokenBudget).toMatchObject({ reserveResponse: 2_000 });
  });

  test("a limit for the model overrides its lanes: memory's reserve and history's room", async () => {
    const { quire } = await serveDesk();
    const limited = (limits: object) =>
      contextOf(quire, {
        settings: {
          compressionStrategy: "COMPRESSION_STRATEGY_WINDOW",
          modelLimits: [{ model: "gpt-4o", ...limits }],
        },
      });
    const { context } = await limited({ historyTokens: 60, maxTokens: 16_000, reserveResponseTokens: 500 });
    expect(context.tokenBudget).toMatchObject({
      modelLimit: 16_000,
      reserveResponse: 500,
      reserveTools: 4_000,
    });
    expect(context.historyLayer!.tokens).toBeLessThanOrEqual(60);
    expect(context.historyLayer!.droppedTurns).toBe(2);
  });

  test("memory's reserve gives way before the last turns do, and the receipt says so", async () => {
    const { quire } = await serveDesk();
    const settings = { defaultLimits: { memoryTokens: 500 } };
    const whole = await contextOf(quire, { settings });
    expect(whole.receipt.floors).toEqual([]);
    const maxContextTokens = whole.context.tokenBudget!.used!.total;
    const tight = await contextOf(quire, { maxContextTokens, settings });
    expect(tight.context.historyLayer).toMatchObject({ turns: 3, droppedTurns: 0 });
    expect(tight.receipt.floors).toEqual([{ kind: FloorKind.MEMORY_GAVE_WAY }]);
    // Nothing is kept free for memory where nobody says so.
    const unreserved = await contextOf(quire, { maxContextTokens });
    expect(unreserved.context.historyLayer).toMatchObject({ turns: 3, droppedTurns: 0 });
    expect(unreserved.receipt.floors).toEqual([]);
  });
});
