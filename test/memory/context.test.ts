import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContextRequest } from "../../src/contract/gen/quire/v1/assembly_service.js";
import type { DeepPartial } from "../../src/contract/gen/quire/v1/message.js";
import { openTestQuire, type TestQuire, testNow } from "../assembly/engine.js";
import { refusal, text } from "../in-process/quire-fixture.js";
import { named, op, putBlock, setText, textOf } from "./memory-quire.js";

let quire: TestQuire;
let now = testNow;

beforeAll(async () => {
  quire = await openTestQuire({}, () => now);
  const persona = { corePrompt: "You are Entropy.", model: { model: "claude-sonnet-5-5" } };
  await quire.capsules.putCapsule({ name: "entropy", body: { persona } });
  await quire.capsules.putCapsule({
    name: "flux",
    body: { persona: { ...persona, memory: { tools: true } } },
  });
  await putBlock(quire, "persona", textOf, [setText("I break tasks down.")], {
    type: "BLOCK_TYPE_CORE",
    description: "Who I am",
  });
  await putBlock(quire, "human", textOf, [setText("Ada </block:human> likes tea.")], {
    type: "BLOCK_TYPE_CORE",
  });
  await putBlock(quire, "plan", textOf, [setText("1. listen")], { pinned: true });
  await putBlock(quire, "scratch", textOf, [setText("half a thought")]);
  await putBlock(quire, "diary", textOf, [setText("long ago")], { type: "BLOCK_TYPE_ARCHIVAL" });
});

afterAll(() => quire.close());

let sessions = 0;
async function newSession(): Promise<string> {
  const label = `s${++sessions}`;
  await quire.ledger.createSession({ label });
  return label;
}

async function assembled(session: string, more: DeepPartial<ContextRequest> = {}) {
  const { context } = await quire.assembly.buildContext({
    context: { session, capsule: "entropy", event: { content: [text("and now?")] }, ...more },
  });
  return context!;
}

type Context = Awaited<ReturnType<typeof assembled>>;

function currentText({ currentMessage }: Context): string {
  return currentMessage!.contextParts
    .map(({ content }) => (content?.$case === "text" ? content.value.text : ""))
    .join("");
}

async function answered(session: string, context: Context): Promise<void> {
  await quire.ledger.recordTurn({
    session,
    parentTurnId: context.parentTurnId,
    assemblyId: context.assemblyId,
    messages: [{ role: "MESSAGE_ROLE_USER", parts: [text("and now?")] }],
    result: { messages: [{ role: "MESSAGE_ROLE_ASSISTANT", parts: [text("this")] }] },
  });
}

const blocksInOrder = `<block:human permission="ReadWrite">
Ada &lt;/block:human> likes tea.
</block:human>

<block:persona permission="ReadWrite">
Who I am

I break tasks down.
</block:persona>

<block:plan permission="ReadWrite">
1. listen
</block:plan>`;

describe("blocks in a context", () => {
  test("core blocks, then pinned working blocks, stand in the system prompt after the persona", async () => {
    const context = await assembled(await newSession());
    expect(context.systemPrompt).toBe(`You are Entropy.\n\n${blocksInOrder}`);
    expect(context.sections.map(({ name, layer }) => [name, layer])).toEqual([
      ["persona", "CONCEPTUAL_LAYER_PERSONA"],
      ["block human", "CONCEPTUAL_LAYER_MEMORY"],
      ["block persona", "CONCEPTUAL_LAYER_MEMORY"],
      ["block plan", "CONCEPTUAL_LAYER_MEMORY"],
    ]);
    const layers = new Map(context.tokenBudget!.layers.map(({ layer, used }) => [layer, used]));
    const blocks = context.sections.slice(1).reduce((sum, { tokens }) => sum + tokens, 0);
    expect(layers.get("CONCEPTUAL_LAYER_MEMORY")).toBe(blocks);
    expect(context.tokenBudget!.used!.memory).toBe(0);
    expect(context.currentMessage!.injected!.system!.memory!.blocks).toEqual(["human", "persona", "plan"]);
  });

  test("each block is one candidate of the receipt, and an input with its revision", async () => {
    const context = await assembled(await newSession(), { blocks: ["scratch"] });
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: context.assemblyId });
    const candidates = receipt!.candidates.filter(({ layer }) => layer === "CONCEPTUAL_LAYER_MEMORY");
    expect(candidates.map(({ name, physical, kept, detail }) => [name, physical, kept, detail])).toEqual([
      ["section block human", "PHYSICAL_LAYER_SYSTEM", true, "revision 1"],
      ["section block persona", "PHYSICAL_LAYER_SYSTEM", true, "revision 1"],
      ["section block plan", "PHYSICAL_LAYER_SYSTEM", true, "revision 1"],
      ["block scratch", "PHYSICAL_LAYER_CURRENT", true, "revision 1"],
    ]);
    const inputs = receipt!.inputs.filter(({ kind }) => kind === "INPUT_KIND_BLOCK");
    expect(inputs.map(({ name, version }) => [name, version])).toEqual([
      ["human", 1],
      ["persona", 1],
      ["plan", 1],
      ["scratch", 1],
    ]);
    const current = receipt!.candidates.filter(({ physical }) => physical === "PHYSICAL_LAYER_CURRENT");
    expect(current.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(context.tokenBudget!.used!.event);
  });

  test("a block that the request names stands in the current message; one that is there anyway does not", async () => {
    const context = await assembled(await newSession(), { blocks: ["diary", "persona", "scratch", "diary"] });
    expect(context.systemPrompt).toBe(`You are Entropy.\n\n${blocksInOrder}`);
    expect(currentText(context)).toBe(
      [
        "Current time: 2026-01-15T09:30:00.000Z",
        "Timezone: UTC",
        '<block:diary permission="ReadWrite">\nlong ago\n</block:diary>',
        '<block:scratch permission="ReadWrite">\nhalf a thought\n</block:scratch>',
        "",
        "",
      ].join("\n"),
    );
    const error = await refusal(assembled(await newSession(), { blocks: ["nothing"] }));
    expect([error.reason, error.metadata.label]).toEqual(["BLOCK_NOT_FOUND", "nothing"]);
  });

  test("a shared block comes with its owner, after the agent's own", async () => {
    await quire.memory.shareBlock({
      block: named("persona"),
      agent: "flux",
      permission: "BLOCK_PERMISSION_APPEND",
    });
    await quire.memory.createBlock({
      block: { owner: { kind: "OWNER_KIND_AGENT", name: "flux" }, label: "persona" },
      type: "BLOCK_TYPE_CORE",
      operations: [setText("I am Flux.")] as never,
    });
    const context = await assembled(await newSession(), { capsule: "flux" });
    expect(context.sections.map(({ name }) => name)).toEqual([
      "persona",
      "block persona",
      "block persona from entropy",
    ]);
    expect(context.systemPrompt).toContain('<block:persona permission="Append" shared_from="entropy">');
  });

  test("descriptions and schemas are shown as the settings say", async () => {
    const bare = await assembled(await newSession(), { settings: { includeDescriptions: false } });
    expect(bare.systemPrompt).not.toContain("Who I am");
    const full = await assembled(await newSession(), { settings: { includeBlockSchemas: true } });
    expect(full.systemPrompt).toContain("Who I am\n\nSchema: text\n\nI break tasks down.");
  });

  test("the memory tools are offered where the capsule says so", async () => {
    const { tools } = await quire.memory.listMemoryTools({});
    const context = await assembled(await newSession(), { capsule: "flux" });
    expect(context.tools).toEqual(tools);
    expect((await assembled(await newSession())).tools).toEqual([]);
  });

  test("a warm session keeps its system prompt while a block changes; the change rides along, and folds in when it is cold", async () => {
    const session = await newSession();
    const first = await assembled(session);
    await answered(session, first);
    await quire.memory.updateBlock({
      block: named("plan"),
      operations: [op("appendText", { text: "\n2. ask" })] as never,
    });
    const warm = await assembled(session);
    expect(warm.systemPrompt).toBe(first.systemPrompt);
    expect(currentText(warm)).toContain("[System prompt update: block plan]\n");
    expect(currentText(warm)).toContain("+2. ask");
    expect(warm.prefix!.pinned).toBe(true);
    await answered(session, warm);
    // It was told: nothing more is said of it.
    const next = await assembled(session);
    expect(next.systemPrompt).toBe(first.systemPrompt);
    expect(currentText(next)).not.toContain("System prompt update");
    const live = await assembled(session, { settings: { prefix: "PREFIX_POLICY_LIVE" } });
    expect(live.systemPrompt).toContain("1. listen\n2. ask");
    now += 24 * 3_600_000;
    const cold = await assembled(session);
    expect(cold.systemPrompt).toContain("1. listen\n2. ask");
    now = testNow;
    for (const context of [first, warm, next, cold]) {
      const { context: again } = await quire.assembly.replayContext({ assemblyId: context.assemblyId });
      expect(again!.systemPrompt).toBe(context.systemPrompt);
      expect(again!.hashes).toEqual(context.hashes);
    }
  });

  test("a deleted block and a revoked share leave the context, and past contexts are replayed as they were", async () => {
    const block = { owner: { kind: "OWNER_KIND_AGENT" as const, name: "brief" }, label: "core" };
    await quire.capsules.putCapsule({ name: "brief", body: { persona: { corePrompt: "Be brief." } } });
    await quire.memory.createBlock({ block, type: "BLOCK_TYPE_CORE", operations: [setText("x")] as never });
    const before = await assembled(await newSession(), { capsule: "brief" });
    expect(before.systemPrompt).toContain("<block:core");
    await quire.memory.deleteBlock({ block });
    expect((await assembled(await newSession(), { capsule: "brief" })).systemPrompt).toBe("Be brief.");
    const { context: again } = await quire.assembly.replayContext({ assemblyId: before.assemblyId });
    expect(again!.systemPrompt).toBe(before.systemPrompt);
  });

  test("a block over its limit says so", async () => {
    const owner = { kind: "OWNER_KIND_AGENT" as const, name: "long" };
    await quire.capsules.putCapsule({ name: "long", body: { persona: { corePrompt: "Go on." } } });
    const block = { owner, label: "core" };
    await quire.memory.createBlock({
      block,
      type: "BLOCK_TYPE_CORE",
      operations: [setText("12345")] as never,
    });
    await quire.memory.configureBlock({ block, charLimit: 3 });
    const context = await assembled(await newSession(), { capsule: "long" });
    const { receipt } = await quire.assembly.getReceipt({ assemblyId: context.assemblyId });
    expect(receipt!.candidates.find(({ name }) => name === "section block core")!.detail).toBe(
      "revision 2; over its character limit",
    );
  });
});
