import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { BudgetLane, CandidateRule, InputKind } from "../../src/contract/gen/quire/v1/assembly.js";
import { CompactionTrigger, FloorKind } from "../../src/contract/gen/quire/v1/compaction.js";
import {
  BudgetPolicy,
  CompressionStrategy,
  PrefixPolicy,
} from "../../src/contract/gen/quire/v1/context_settings.js";
import { BreakpointPlace, CacheKind } from "../../src/contract/gen/quire/v1/prompt_cache.js";
import { BodyFormat } from "../../src/contract/gen/quire/v1/rendering.js";
import { LoopRule } from "../../src/contract/gen/quire/v1/workspace.js";
import { sha256 } from "../../src/domain/hash.js";
import type { Quire } from "../../src/index.js";
import type { PartialContext } from "../assembly/agent.js";
import { change } from "../assembly/change.js";
import { tight } from "../assembly/compacted-session.js";
import { fold } from "../assembly/fold.js";
import { longSession } from "../assembly/long-session.js";
import { bodyOf, eventsOf } from "../assembly/rendered-context.js";
import { type ServedDesk, serveDesk } from "../assembly/served-desk.js";
import { deskRequest, putCapsule } from "../assembly/travel-desk.js";
import { foundCompaction, recordedTurn } from "../support/found-turn.js";
import { assistant, user } from "../support/messages.js";
import { failure } from "../support/server.js";
import { tempFolder } from "../support/temp-folder.js";

const context = { ...deskRequest, capsule: "atlas" };

async function built({ quire }: ServedDesk, more: PartialContext = {}, includeCandidates = false) {
  const answer = await quire.assembly.buildContext({ context: { ...context, ...more }, includeCandidates });
  return answer.context!;
}

async function planned(desk: ServedDesk, more: PartialContext): Promise<Record<string, number>> {
  const { tokenBudget } = await built(desk, more);
  return Object.fromEntries(tokenBudget!.lanes.map(({ lane, planned }) => [lane, planned]));
}

const compactionOf = async (quire: Quire, more: PartialContext) =>
  (await fold(quire.assembly.assemble({ context: more }))).compaction;

describe("2: closed sets are enums, and what is not known is absent", () => {
  test("the compression strategy has one name, in the settings, in what is started and in what was made", async () => {
    const { quire } = await serveDesk();
    await longSession(quire, "long", 12);
    const compressionStrategy = CompressionStrategy.IMPORTANCE;
    const [started, finished] = await compactionOf(quire, tight("long", 600, { compressionStrategy }));
    expect(started).toMatchObject({ $case: "started", value: { compressionStrategy } });
    expect(finished).toMatchObject({ $case: "finished", value: { compressionStrategy } });
    const { compaction } = await quire.ledger.compact({
      session: "long",
      compressionStrategy: CompressionStrategy.TRUNCATE,
      keepTurns: 1,
    });
    expect(compaction).toMatchObject({ compressionStrategy: CompressionStrategy.TRUNCATE });
    expect(
      await failure(
        quire.ledger.compact({ session: "long", compressionStrategy: CompressionStrategy.WINDOW }),
      ),
    ).toMatchObject({ reason: "INVALID_FIELD", fields: ["compression_strategy"] });
  });

  test("kinds of caches, places of breakpoints, kinds of inputs and rules of tools are names of the contract", async () => {
    const desk = await serveDesk();
    const { cachePlan } = await built(desk, { model: "claude-haiku-4-5" });
    expect(cachePlan!.kind).toBe(CacheKind.BREAKPOINTS);
    const places = cachePlan!.breakpoints.map(({ after }) => after);
    for (const place of places) expect(Object.values(BreakpointPlace)).toContain(place);
    expect((await built(desk)).cachePlan!.kind).toBe(CacheKind.PREFIX);
    const { models } = await desk.quire.assembly.listModels({});
    expect(new Set(models.map(({ cacheKind }) => cacheKind))).toEqual(
      new Set([CacheKind.BREAKPOINTS, CacheKind.PREFIX, CacheKind.NONE]),
    );
    const { assemblyId } = await built(desk);
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId });
    const kinds = new Set(receipt!.inputs.map(({ kind }) => kind));
    for (const kind of [InputKind.CAPSULE, InputKind.DOCUMENT, InputKind.TOOLSET, InputKind.CATALOGUE])
      expect(kinds).toContain(kind);
    const { toolset } = await desk.quire.workspaces.getToolset({ workspace: "desk", name: "travel" });
    expect(toolset!.rules).toContainEqual({ tool: "send", rule: { $case: "loop", value: LoopRule.EXIT } });
  });

  test("a cause is a kind and a detail, and absent where there is none", async () => {
    const desk = await serveDesk();
    const first = await built(desk);
    expect(first.cachePlan!.missCause).toEqual(change("FIRST_CONTEXT"));
    expect(first.prefix).toMatchObject({ cause: undefined, difference: undefined });
    await desk.quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: first.parentTurnId,
      messages: [user("Book both, please."), assistant("Done.")],
      assemblyId: first.assemblyId,
    });
    const next = await built(desk, { baseInstructions: "You are Nemo." });
    expect(next.prefix!.difference).toEqual(change("SECTION", "persona"));
  });

  test("floors are the same messages in the stream, the context and the receipt; a compaction has its own", async () => {
    const { quire } = await serveDesk();
    await longSession(quire, "long", 12);
    const narrow = tight("long", 120, { compressionStrategy: CompressionStrategy.WINDOW });
    const { completed } = await fold(quire.assembly.assemble({ context: narrow }));
    const floors = [{ kind: FloorKind.KEEP_TURNS, value: 1 }];
    expect(completed.floors).toEqual(floors);
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: completed.assemblyId });
    expect(receipt!.floors).toEqual(floors);
    expect((await quire.assembly.buildContext({ context: narrow })).context!.floors).toEqual(floors);
    const { compaction } = await quire.ledger.compact({ session: "long", keepTurns: 3, targetTokens: 1 });
    expect(compaction!.floors).toEqual([{ kind: FloorKind.OVER_TARGET }]);
  });

  test("the sizes of the layers are named, and are those of what was sent", async () => {
    const desk = await serveDesk();
    const { assemblyId, systemPrompt } = await built(desk);
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId });
    expect(receipt!.layerBytes).toMatchObject({ system: Buffer.byteLength(systemPrompt) });
    for (const size of Object.values(receipt!.layerBytes!)) expect(size).toBeGreaterThan(0);
  });

  test("a cost is absent without a price, limits where nobody set them; a count with an image is not exact", async () => {
    const catalogueFile = join(tempFolder(), "models.json");
    const dear = { contextTokens: 100_000, outputTokens: 1_000, vocabulary: null, inputPrice: 10 };
    writeFileSync(catalogueFile, JSON.stringify({ models: { dear } }));
    const desk = await serveDesk({ catalogueFile });
    const priced = (await built(desk, { model: "dear" })).cachePlan!;
    expect(priced.costUsd).toBeCloseTo((priced.cost * 10) / 1_000_000);
    const known = await built(desk);
    expect(known.tokenBudget!.countedTokens).toBe(known.tokenBudget!.used!.total);
    expect(known.modelConfig!.maxTokens).toBeUndefined();
    const unknown = await built(desk, { model: "nobody-knows-it" });
    expect(unknown.cachePlan!.costUsd).toBeUndefined();
    const data = Buffer.from("89504e470d0a1a0a", "hex");
    const image = {
      content: {
        $case: "image" as const,
        value: { mediaType: "image/png", source: { $case: "data" as const, value: data } },
      },
    };
    const seen = await built(desk, { event: { ...deskRequest.event, content: [image] } });
    expect(seen.tokenBudget!.exact).toBe(false);
    expect(seen.tokenBudget!.countedTokens).toBe(seen.tokenBudget!.used!.total);
    const { models } = await desk.quire.assembly.listModels({});
    for (const { inputTokens, contextTokens } of models)
      if (inputTokens !== undefined) expect(inputTokens).toBeLessThan(contextTokens);
    expect(models.some(({ inputTokens }) => inputTokens === undefined)).toBe(true);
    await putCapsule(desk.quire, "brief", { persona: { model: { model: "gpt-4o", maxTokens: 700 } } });
    expect((await built(desk, { capsule: "brief" })).modelConfig!.maxTokens).toBe(700);
  });
});

describe("4: one name for one thing", () => {
  test("an assembly is asked for by its assembly_id, which is required", async () => {
    const desk = await serveDesk();
    const { assemblyId } = await built(desk);
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId });
    expect(receipt!.assemblyId).toBe(assemblyId);
    for (const call of [
      desk.quire.assembly.getReceipt({}),
      desk.quire.assembly.replayContext({}),
      desk.quire.assembly.reportOverflow({}),
    ])
      expect(await failure(call)).toMatchObject({ reason: "INVALID_FIELD", fields: ["assembly_id"] });
    expect(await failure(desk.quire.assembly.compareReceipts({}))).toMatchObject({
      fields: ["first_assembly_id", "second_assembly_id"],
    });
  });

  test("BuildContext gives all that the stream gives", async () => {
    const desk = await serveDesk();
    const streamed = await fold(desk.quire.assembly.assemble({ context: { ...context, dryRun: true } }));
    const whole = await built(desk);
    const { resolved, completed, system, tools, layer, history, current } = streamed;
    expect(whole).toMatchObject({
      sessionId: resolved.sessionId,
      parentTurnId: resolved.parentTurnId,
      model: resolved.model,
      modelConfig: resolved.modelConfig,
      systemPrompt: system.text,
      sections: system.sections,
      tools: tools.tools,
      history,
      historyLayer: layer,
      tokenBudget: completed.budget,
      floors: completed.floors,
      cachePlan: completed.cachePlan,
      prefix: completed.prefix,
      warnings: completed.warnings,
    });
    expect(whole.currentMessage!.parts).toEqual(current!.parts);
  });

  test("BuildContext gives the receipt's candidates on request, and none otherwise; a replay gives the same context", async () => {
    const desk = await serveDesk();
    const asked = await built(desk, {}, true);
    const { receipt } = await desk.quire.assembly.getReceipt({ assemblyId: asked.assemblyId });
    expect(asked.candidates).toEqual(receipt!.candidates);
    expect(asked.candidates).toContainEqual(
      expect.objectContaining({ name: "tool book", kept: false, rule: CandidateRule.PERMISSION }),
    );
    const plain = await built(desk);
    expect(plain.candidates).toEqual([]);
    const replayed = await desk.quire.assembly.replayContext({ assemblyId: plain.assemblyId });
    expect(replayed.context).toEqual(plain);
  });

  test("GetTurn finds a turn with its result, or a compaction, and never both", async () => {
    const { quire } = await serveDesk();
    const head = await longSession(quire, "long", 6);
    const found = await quire.ledger.getTurn({ turnId: head });
    expect(recordedTurn(found)).toMatchObject({ turn: { id: head, depth: 6 } });
    expect(recordedTurn(found).result!.messages).toHaveLength(2);
    const { compaction } = await quire.ledger.compact({ session: "long", keepTurns: 1 });
    expect(foundCompaction(await quire.ledger.getTurn({ turnId: compaction!.id }))).toEqual(compaction);
  });
});

describe("5: nothing is destroyed by leaving something out, and no echo is trusted", () => {
  test("an alias is taken away by UnaliasSession alone", async () => {
    const { ledger } = (await serveDesk()).quire;
    await ledger.aliasSession({ alias: "today", session: "desk" });
    expect(await failure(ledger.aliasSession({ alias: "today" }))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["session"],
    });
    expect((await ledger.getSession({ session: "today" })).session!.label).toBe("desk");
    expect((await ledger.unaliasSession({ alias: "today" })).session).toMatchObject({
      label: "desk",
      aliases: [],
    });
    expect(await failure(ledger.unaliasSession({ alias: "today" }))).toMatchObject({
      reason: "ALIAS_NOT_FOUND",
    });
  });

  test("a summary comes with the token that asked for it, and with no other", async () => {
    const desk = await serveDesk();
    await longSession(desk.quire, "long", 12);
    const engine = tight("long", 600, { summarizers: { names: ["engine"] } });
    const needed = (await compactionOf(desk.quire, engine)).at(-1);
    if (needed?.$case !== "needed") throw new Error("no summary was asked for");
    const { planToken, plan } = needed.value;
    const summary = "They asked about a parcel by the river.";
    const submit = (token: string) =>
      desk.quire.ledger.submitCompaction({ session: "long", planToken: token, summary });
    expect(await failure(submit(`A${planToken.slice(1)}`))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["plan_token"],
    });
    const { compaction } = await submit(planToken);
    expect(compaction).toMatchObject({
      summary,
      firstKeptTurnId: plan!.firstKeptTurnId,
      trigger: CompactionTrigger.CONTEXT_LIMIT,
    });
  });

  test("what a summary must hold, and how long it may be, is sealed in the token", async () => {
    const { quire } = await serveDesk();
    await longSession(quire, "long", 12, (number) => [
      user(
        `TODO: crate ORD-4711 still has to leave. ${"The parcel left the house by the river. ".repeat(8)}`,
      ),
      assistant(`Step ${number} of ORD-4711 is pending.`),
    ]);
    const engine = tight("long", 900, { summarizers: { names: ["engine"] } });
    const needed = (await compactionOf(quire, engine)).at(-1);
    if (needed?.$case !== "needed") throw new Error("no summary was asked for");
    const { planToken, plan } = needed.value;
    expect(plan!.mustKeep).toContain("ORD-4711");
    const submit = (summary: string) =>
      quire.ledger.submitCompaction({ session: "long", planToken, summary });
    for (const summary of ["They asked about a crate.", `ORD-4711 ${"and more ".repeat(2_000)}`])
      expect(await failure(submit(summary))).toMatchObject({
        reason: "SUMMARY_REFUSED",
        fields: ["summary"],
      });
    const { compaction } = await submit("They asked about the crate ORD-4711.");
    expect(compaction!.summary).toContain("ORD-4711");
  });
});

describe("6: settings are layered", () => {
  test("UNSPECIFIED inherits from the capsule: policy, prefix and compression strategy", async () => {
    const desk = await serveDesk();
    await putCapsule(desk.quire, "strict", { settings: { policy: BudgetPolicy.STRICT_FAIL } });
    const tiny = { capsule: "strict", maxContextTokens: 150 };
    for (const settings of [undefined, {}, { policy: BudgetPolicy.UNSPECIFIED }])
      expect(await failure(built(desk, { ...tiny, settings }))).toMatchObject({ reason: "LANE_EXCEEDED" });
    const settings = {
      compressionStrategy: CompressionStrategy.WINDOW,
      prefix: PrefixPolicy.LIVE,
      softThreshold: 1,
    };
    await longSession(desk.quire, "long", 12);
    await putCapsule(desk.quire, "windowed", { settings });
    const inherited = {
      ...tight("long", 600, {
        compressionStrategy: CompressionStrategy.UNSPECIFIED,
        prefix: PrefixPolicy.UNSPECIFIED,
      }),
      capsule: "windowed",
    };
    expect(await compactionOf(desk.quire, inherited)).toEqual([]);
    const own = { ...inherited.settings, compressionStrategy: CompressionStrategy.TRUNCATE };
    expect(await compactionOf(desk.quire, { ...inherited, settings: own })).toHaveLength(2);
  });

  test("a list can be overridden to empty: then nobody is asked for a summary, and history is cut", async () => {
    const { quire } = await serveDesk();
    await longSession(quire, "long", 12);
    await putCapsule(quire, "engine", { settings: { summarizers: { names: ["engine"] } } });
    const request = { ...tight("long", 600), capsule: "engine" };
    expect(await compactionOf(quire, request)).toMatchObject([{ $case: "started" }, { $case: "needed" }]);
    const nobody = { ...request.settings, summarizers: { names: [] } };
    const silent = await fold(quire.assembly.assemble({ context: { ...request, settings: nobody } }));
    expect(silent.layer.droppedTurns).toBeGreaterThan(0);
    expect(silent.layer.compactionId).toBe("");
    expect(silent.compaction.filter(({ $case }) => $case === "needed" || $case === "finished")).toEqual([]);
    const compacted = await failure(quire.ledger.compact({ session: "long", summarizers: { names: [] } }));
    expect(compacted).toMatchObject({ reason: "COMPACTION_FAILED" });
  });

  test("default_limits hold for every model, model_limits win field by field, and lanes.planned shows both", async () => {
    const desk = await serveDesk();
    const defaultLimits = { maxTokens: 40_000, historyTokens: 900, memoryTokens: 700 };
    for (const model of ["gpt-4o", "claude-haiku-4-5", "nobody-knows-it"]) {
      expect((await built(desk, { model, settings: { defaultLimits } })).tokenBudget!.modelLimit).toBe(
        40_000,
      );
      expect(await planned(desk, { model, settings: { defaultLimits } })).toMatchObject({
        [BudgetLane.HISTORY]: 900,
        [BudgetLane.MEMORY]: 700,
      });
    }
    const modelLimits = [{ model: "gpt-4o", historyTokens: 300 }];
    const settings = { defaultLimits, modelLimits };
    expect(await planned(desk, { model: "gpt-4o", settings })).toMatchObject({
      [BudgetLane.HISTORY]: 300,
      [BudgetLane.MEMORY]: 700,
    });
    expect(await planned(desk, { model: "gpt-4o-mini", settings })).toMatchObject({
      [BudgetLane.HISTORY]: 900,
    });
    const free = await planned(desk, {});
    expect(free[BudgetLane.HISTORY]).toBeGreaterThan(900);
  });

  test("default_limits of a request are stronger than the capsule's, and name no model", async () => {
    const desk = await serveDesk();
    await putCapsule(desk.quire, "limited", {
      settings: { defaultLimits: { historyTokens: 500, memoryTokens: 400 } },
    });
    const settings = { defaultLimits: { historyTokens: 200 } };
    expect(await planned(desk, { capsule: "limited", settings })).toMatchObject({
      [BudgetLane.HISTORY]: 200,
      [BudgetLane.MEMORY]: 400,
    });
    const named = { defaultLimits: { model: "gpt-4o", historyTokens: 200 } };
    expect(await failure(built(desk, { settings: named }))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["context.settings.default_limits.model"],
    });
  });

  test("what a session may remember later can be left out today, and empty means the same", async () => {
    const { quire } = await serveDesk();
    await quire.ledger.createSession({ label: "new" });
    const { turn } = await quire.ledger.recordTurn({ session: "new", messages: [user("Hello.")] });
    expect(turn!.parentTurnId).toBe("");
    await quire.ledger.createSession({ label: "newer" });
    const begun = await quire.ledger.beginTurn({ session: "newer", parentTurnId: "", assemblyId: "" });
    expect(begun.turn!.parentTurnId).toBe("");
    const { event } = deskRequest;
    const { context: bare } = await quire.assembly.buildContext({
      context: { session: "new", capsule: "atlas", event },
    });
    expect(bare).toMatchObject({ model: "gpt-4o", provider: "openai", tools: [] });
  });

  test("a body comes in pieces of 64 KB, and what it is with the last one", async () => {
    const { quire } = await serveDesk();
    const content = [{ content: { $case: "text" as const, value: { text: "Hello. ".repeat(30_000) } } }];
    const asked = { ...context, event: { ...deskRequest.event, content }, render: BodyFormat.OPENAI_CHAT };
    const events = await eventsOf(quire, asked);
    const pieces = events.flatMap((event) => (event.$case === "rendered" ? [event.value] : []));
    expect(pieces.length).toBeGreaterThan(3);
    for (const { data, about } of pieces.slice(0, -1)) {
      expect(data.length).toBe(65_536);
      expect(about).toBeUndefined();
    }
    const { body, hash, format } = bodyOf(events);
    expect(format).toBe(BodyFormat.OPENAI_CHAT);
    expect(hash.equals(sha256(body))).toBe(true);
    expect(JSON.parse(body.toString())).toMatchObject({ model: "gpt-4o" });
  });
});
