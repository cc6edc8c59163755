import { describe, expect, test } from "vitest";
import { BudgetBound } from "../../src/contract/gen/quire/v1/assembly.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { WarningKind } from "../../src/domain/warning.js";
import { tempFolder } from "../support/temp-folder.js";
import type { PartialContext } from "./agent.js";
import { serveFolder } from "./served-desk.js";

const text = (value: string) => ({ content: { $case: "text" as const, value: { text: value } } });

async function openDesk() {
  const { quire } = await serveFolder(tempFolder());
  await quire.ledger.createSession({ label: "desk" });
  const put = (body: object, persona: object = {}) =>
    quire.capsules.putCapsule({
      name: "atlas",
      body: { persona: { corePrompt: "You are Atlas.", ...persona }, ...body },
    });
  await put({});
  const build = async (context: PartialContext = {}) => {
    const event = { content: [text("And now?")] };
    const request = { session: "desk", capsule: "atlas", event, ...context };
    return (await quire.assembly.buildContext({ context: request })) as {
      context: NonNullable<Awaited<ReturnType<typeof quire.assembly.buildContext>>["context"]>;
      rendered: { readonly body: Buffer } | undefined;
    };
  };
  const budget = async (context: PartialContext = {}) => (await build(context)).context.tokenBudget!;
  return { quire, put, build, budget };
}

describe("what a context may use", () => {
  test.each([
    ["claude-opus-5-5", 1_000_000, 975_424, BudgetBound.WINDOW],
    ["claude-haiku-4-5-20251001", 200_000, 175_424, BudgetBound.WINDOW],
    ["gpt-5.4-2026-03-05", 1_050_000, 922_000, BudgetBound.INPUT_LIMIT],
    ["models/gemini-2.5-pro-preview-05-06", 1_048_576, 1_024_000, BudgetBound.WINDOW],
  ])("is the whole window of %s less its reserves, where nobody sets anything", async (model, modelLimit, available, availableBy) => {
    const { build } = await openDesk();
    const { context } = await build({ model });
    expect(context.tokenBudget).toMatchObject({ modelLimit, available, availableBy });
    expect(context.warnings).toEqual([]);
  });

  test("is what max_context_tokens says: the request's, then the session's, then the capsule's", async () => {
    const { quire, put, budget } = await openDesk();
    const model = "claude-opus-5-5";
    await put({ maxContextTokens: 60_000 });
    expect(await budget({ model })).toMatchObject({ available: 60_000, availableBy: BudgetBound.CAPSULE });
    await quire.ledger.updateSession({ session: "desk", defaults: { maxContextTokens: 70_000 } });
    expect(await budget({ model })).toMatchObject({ available: 70_000, availableBy: BudgetBound.SESSION });
    const own = { model, maxContextTokens: 80_000 };
    expect(await budget(own)).toMatchObject({ available: 80_000, availableBy: BudgetBound.REQUEST });
    expect(await budget({ model, maxContextTokens: 5_000_000 })).toMatchObject({
      available: 975_424,
      availableBy: BudgetBound.WINDOW,
    });
    await quire.ledger.updateSession({ session: "desk", defaults: { maxContextTokens: 0 } });
    expect(await budget({ model })).toMatchObject({ available: 60_000 });
    const { session } = await quire.ledger.getSession({ session: "desk" });
    expect(session!.defaults?.maxContextTokens).toBeUndefined();
  });

  test("is capped by an intelligence level only where one is set, with a warning where more was asked for", async () => {
    const { put, build } = await openDesk();
    await put({}, { knobs: { intelligenceLevel: 5 } });
    const { context } = await build({ model: "claude-opus-5-5" });
    expect(context.tokenBudget).toMatchObject({
      available: 32_768,
      availableBy: BudgetBound.INTELLIGENCE_LEVEL,
    });
    expect(context.warnings).toEqual([]);
    const asked = await build({ model: "claude-opus-5-5", maxContextTokens: 50_000 });
    expect(asked.context.tokenBudget).toMatchObject({ available: 32_768 });
    expect(asked.context.warnings).toEqual([
      {
        kind: WarningKind.CONTEXT_CAPPED,
        detail:
          "the capsule's intelligence_level of 5 allows 32768 tokens, fewer than the 50000 of the request's max_context_tokens",
      },
    ]);
    const less = await build({ model: "claude-opus-5-5", maxContextTokens: 9_000 });
    expect(less.context.tokenBudget).toMatchObject({ available: 9_000, availableBy: BudgetBound.REQUEST });
    expect(less.context.warnings).toEqual([]);
  });

  test("is assumed for a model that only its family covers, and says so", async () => {
    const { build } = await openDesk();
    const { context } = await build({ model: "claude-opus-6" });
    expect(context.modelConfig).toMatchObject({ knownAs: "claude-fable-*" });
    expect(context.modelConfig!.assumed).toContain("MODEL_FACT_WINDOW");
    expect(context.warnings).toMatchObject([{ kind: WarningKind.MODEL_ASSUMED }]);
    const known = await build({ model: "us.anthropic.claude-sonnet-4-20250514-v1:0" });
    expect(known.context.modelConfig).toMatchObject({ knownAs: "claude-sonnet-4", assumed: [] });
  });
});

describe("nothing is sent that nobody set", () => {
  const formats = [
    ["claude-opus-4-5", BodyFormat.ANTHROPIC_MESSAGES, ["max_tokens"]],
    ["claude-opus-5-5", BodyFormat.ANTHROPIC_MESSAGES, ["max_tokens"]],
    ["gpt-4o", BodyFormat.OPENAI_CHAT, []],
    ["gpt-5", BodyFormat.OPENAI_RESPONSES, []],
    ["gemini-2.5-pro", BodyFormat.GEMINI, []],
  ] as const;
  const parameters =
    /^(?:temperature|top_p|max_tokens|max_completion_tokens|max_output_tokens|generationConfig|thinking|reasoning.*)$/;

  test.each(
    formats,
  )("by %s: the body has only what its provider demands", async (model, render, demanded) => {
    const { build } = await openDesk();
    const { context, rendered } = await build({ model, render });
    const body = JSON.parse(rendered!.body.toString());
    expect(Object.keys(body).filter((key) => parameters.test(key))).toEqual(demanded);
    const { temperature, maxTokens, thinking } = context.modelConfig!;
    expect({ temperature, maxTokens, thinking }).toEqual({ maxTokens: body.max_tokens });
  });

  test("and a temperature is the request's, or else the capsule's", async () => {
    const { put, build } = await openDesk();
    await put({}, { model: { model: "gpt-4o", temperature: 0.25 } });
    const render = BodyFormat.OPENAI_CHAT;
    for (const [given, sent] of [
      [undefined, 0.25],
      [0.75, 0.75],
    ] as const) {
      const { context, rendered } = await build({
        render,
        ...(given === undefined ? {} : { temperature: given }),
      });
      expect(context.modelConfig).toMatchObject({ temperature: sent });
      expect(JSON.parse(rendered!.body.toString())).toMatchObject({ temperature: sent });
    }
  });

  test.each([
    ["gpt-5", BodyFormat.OPENAI_CHAT],
    ["o3", BodyFormat.OPENAI_RESPONSES],
    ["claude-opus-4-7", BodyFormat.ANTHROPIC_MESSAGES],
  ])("nor what %s does not take, with a warning", async (model, render) => {
    const { put, build } = await openDesk();
    await put({}, { model: { model, temperature: 0.5 } });
    const { context, rendered } = await build({ render });
    expect(context.modelConfig!.temperature).toBeUndefined();
    expect(JSON.parse(rendered!.body.toString()).temperature).toBeUndefined();
    expect(context.warnings).toEqual([
      {
        kind: WarningKind.PARAMETER_LEFT_OUT,
        detail: `the temperature of 0.5 is left out: ${model} takes none`,
      },
    ]);
  });

  test("and a thinking budget that had to be lowered is a warning, the same in config, body and receipt", async () => {
    const { quire, put, build } = await openDesk();
    const model = "claude-opus-4-5";
    const thinking = { enabled: true, budgetTokens: 20_000, effort: "" };
    await put({}, { model: { model, maxTokens: 10_000, thinking, temperature: 0.5 } });
    const { context, rendered } = await build({ render: BodyFormat.ANTHROPIC_MESSAGES });
    const body = JSON.parse(rendered!.body.toString());
    expect(body).toMatchObject({ max_tokens: 10_000, thinking: { budget_tokens: 8_000 } });
    expect(context.modelConfig).toMatchObject({ maxTokens: 10_000, thinking: { budgetTokens: 8_000 } });
    expect(context.warnings.map(({ kind }) => kind)).toEqual([
      WarningKind.PARAMETER_LEFT_OUT,
      WarningKind.THINKING_LOWERED,
    ]);
    expect(context.warnings[1]!.detail).toBe("the model may think 8000 tokens and not 20000");
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: context.assemblyId });
    expect(receipt!.warnings).toEqual(context.warnings);
    const replayed = await quire.assembly.replayContext({
      assemblyId: context.assemblyId,
      render: BodyFormat.ANTHROPIC_MESSAGES,
    });
    expect(replayed.rendered!.body).toEqual(rendered!.body);
  });

  test("and a model that thinks as it sees fit gets no budget", async () => {
    const { put, build } = await openDesk();
    const thinking = { enabled: true, budgetTokens: 20_000, effort: "high" };
    await put({}, { model: { model: "claude-opus-5-5", thinking } });
    const { context, rendered } = await build({ render: BodyFormat.ANTHROPIC_MESSAGES });
    const body = JSON.parse(rendered!.body.toString());
    expect(body).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "high" } });
    expect(context.modelConfig!.thinking).toEqual({ enabled: true, budgetTokens: 0, effort: "high" });
    expect(context.warnings).toMatchObject([{ kind: WarningKind.PARAMETER_LEFT_OUT }]);
  });
});
