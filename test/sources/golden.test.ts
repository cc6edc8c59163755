import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { packageRoot } from "../../src/config/package-root.js";
import { type AssembledContext, CandidateRule } from "../../src/contract/gen/quire/v1/assembly.js";
import { BudgetPolicy } from "../../src/domain/context-settings.js";
import { SourcePosition } from "../../src/domain/source.js";
import { AgentRole, createQuire, type Quire } from "../../src/index.js";
import { builtIns } from "../../src/sources/builtin/all.js";
import { exactModel, type PartialContext } from "../assembly/agent.js";
import { contextText } from "./context-text.js";
import { eventText, nowMs, putEverything, putWhatIsCovered } from "./everything.js";
import { seedBlocks } from "./seed-blocks.js";

/** `UPDATE_GOLDEN=1` writes the files anew; what changed is then in the diff. */
const isUpdate = process.env.UPDATE_GOLDEN === "1";

let quire: Quire;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), "quire-test-"));
  const primeFile = join(folder, "prime.md");
  writeFileSync(primeFile, "Always respond in English regardless of user language.\n");
  const database = `file:${join(folder, "quire.db")}`;
  quire = await createQuire(
    { database, primeFile, logLevel: "silent" },
    { clock: { now: () => nowMs }, ids: countedIds() },
  );
  await putEverything(quire, "atlas");
  await putWhatIsCovered(quire, "broker");
  return async () => {
    await quire.close();
    rmSync(folder, { recursive: true });
  };
});

async function build(more: PartialContext): Promise<AssembledContext> {
  const event = { content: [{ content: { $case: "text" as const, value: { text: eventText } } }] };
  const context = { session: "s", capsule: "atlas", model: exactModel, event, ...more };
  return (await quire.assembly.buildContext({ context, includeCandidates: true })).context!;
}

/** All that the model reads, and below it what is said of the sources. */
function page(context: AssembledContext): string {
  const lead = context.leadMessages.map(({ role, parts }) => {
    const content = parts[0]!.content;
    return `${role}: ${content?.$case === "text" ? content.value.text : ""}`;
  });
  const reports = context.sources.map(({ name, state, detail, blocks, tokens, position }) =>
    [name, state, position, `${blocks} blocks`, `${tokens} tokens`, detail].filter(Boolean).join("  "),
  );
  const candidates = context.candidates
    .filter(({ name }) => name.startsWith("source ") || name.startsWith("section source "))
    .map(({ name, kept, rule, tokens, detail }) =>
      [kept ? "kept" : "left out", name, rule, `${tokens} tokens`, detail].filter(Boolean).join("  "),
    );
  const parts = {
    "system prompt": context.systemPrompt,
    "messages before history": lead.join("\n"),
    "context of the current message": contextText(context.currentMessage),
    sources: reports.join("\n"),
    candidates: candidates.join("\n"),
  };
  const text = Object.entries(parts).map(([name, part]) => `===== ${name}\n${part}\n`);
  const ids = new Map<string, string>();
  return text.join("").replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
    ids.set(id, ids.get(id) ?? `<id ${ids.size + 1}>`);
    return ids.get(id)!;
  });
}

function expectGolden(name: string, text: string): void {
  const file = join(packageRoot, "test", "golden", "sources", `${name}.txt`);
  if (isUpdate) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  expect(text, `test/golden/sources/${name}.txt`).toBe(readFileSync(file, "utf8"));
}

const all = { session: "s" };
const builtInNames = builtIns.map(({ name }) => name);
const none = [...builtInNames, "memory"].map((name) => ({ name, enabled: false }));
const strict = { policy: BudgetPolicy.STRICT_TRUNCATE };

describe("a context with all sources is as its golden file says", () => {
  const cases: Readonly<Record<string, PartialContext>> = {
    "role-unified": { ...all, role: AgentRole.UNIFIED },
    "role-manager": { ...all, role: AgentRole.MANAGER },
    "role-worker": { ...all, role: AgentRole.WORKER, task: "Deploy the invoice service." },
    "suppressed-wholly": { capsule: "broker" },
    "not-suppressed": {
      ...all,
      settings: { sources: [{ name: "world_model", suppressedBy: "" }] },
    },
    caps: {
      ...all,
      settings: {
        sources: [
          { name: "knowledge_graph", maxItems: 2 },
          { name: "self_model", maxItems: 2 },
          { name: "epistemic_state", maxItems: 3 },
          { name: "temporal_insights", maxItems: 1 },
          { name: "procedures", maxItems: 1 },
          { name: "behavioral_rules", maxItems: 1 },
          { name: "few_shots", maxItems: 1 },
          { name: "skills", maxChars: 80 },
          { name: "skill_guides", maxChars: 38 },
          { name: "inbox", maxTokens: 18 },
          { name: "memory", maxItems: 1, maxTokens: 60 },
        ],
      },
    },
    order: {
      ...all,
      settings: {
        sources: [
          { name: "inbox", order: 0 },
          { name: "behavioral_rules", position: SourcePosition.CURRENT, order: 5 },
          { name: "few_shots", position: SourcePosition.SYSTEM },
          { name: "self_model", position: SourcePosition.SYSTEM, order: 1 },
          { name: "knowledge_graph", enabled: false },
          { name: "skills", roles: [AgentRole.MANAGER] },
        ],
      },
    },
    "little-room": {
      ...all,
      settings: { modelLimits: [{ model: exactModel, memoryTokens: 220 }] },
    },
    "strict-truncate": { ...all, settings: strict, maxContextTokens: 600 },
    "strict-truncate-tight": { ...all, settings: strict, maxContextTokens: 400 },
    "base-prompt": {
      ...all,
      settings: { basePrompt: true, sovereignMode: true },
    },
  };

  test.each(Object.entries(cases))("%s", async (name, request) => {
    expectGolden(name, page(await build(request)));
  });
});

test("each block stands byte for byte as the seed shows it", async () => {
  const { systemPrompt, currentMessage } = await build({
    settings: { sovereignMode: true },
  });
  const text = `\n${systemPrompt}\n\n${contextText(currentMessage)}`;
  for (const block of seedBlocks) expect(text).toContain(`\n${block}\n`);
  expect(systemPrompt.startsWith("Always respond in English regardless of user language.")).toBe(true);
});

test("by STRICT_FAIL a lane that sources fill beyond its share is an error that names the lane", async () => {
  const settings = { policy: BudgetPolicy.STRICT_FAIL };
  const whole = await build({ settings });
  expect(whole.candidates.every(({ kept, rule }) => kept || rule === CandidateRule.SUPPRESSED)).toBe(true);
  const refused = (more: PartialContext) =>
    build({ ...more, settings: { ...settings, ...more.settings } }).then(
      () => undefined,
      ({ reason, metadata }) => [reason, metadata.lane],
    );
  expect(await refused({ maxContextTokens: 700 })).toEqual(["LANE_EXCEEDED", "system"]);
  const onlyCurrent = ["behavioral_rules", "few_shots", "skills"].map((name) => ({ name, enabled: false }));
  expect(await refused({ maxContextTokens: 700, settings: { sources: onlyCurrent } })).toEqual([
    "LANE_EXCEEDED",
    "memory",
  ]);
  expect(await refused({ maxContextTokens: 700, settings: { sources: none } })).toBe(undefined);
});

test("by STRICT_TRUNCATE no lane is over its share, however small, and a context is replayed byte for byte", async () => {
  for (let maxContextTokens = 300; maxContextTokens <= 2_400; maxContextTokens += 70) {
    const context = await build({ settings: strict, maxContextTokens });
    for (const { lane, planned, used } of context.tokenBudget!.lanes)
      expect(used, `${lane} of ${maxContextTokens}`).toBeLessThanOrEqual(planned);
    const text = contextText(context.currentMessage);
    const cut = context.candidates.filter(
      ({ lane, detail }) => lane === "BUDGET_LANE_MEMORY" && detail.endsWith("truncated"),
    );
    expect(cut.length, String(maxContextTokens)).toBeLessThanOrEqual(1);
    const bounded = context.candidates.filter(
      ({ kept, lane, detail }) =>
        kept && lane === "BUDGET_LANE_MEMORY" && detail.endsWith("cut to its source's bounds"),
    );
    // The labels of the message may be cut, too: their lane is the buffer.
    const bare = await build({ settings: { ...strict, sources: none }, maxContextTokens });
    expect(marksIn(text), text).toBe(cut.length + bounded.length + marksIn(contextText(bare.currentMessage)));
    const { context: replayed } = await quire.assembly.replayContext({ assemblyId: context.assemblyId });
    expect({ ...replayed, candidates: context.candidates }).toEqual(context);
  }
});

function marksIn(text: string): number {
  return text.split("[...truncated]").length - 1;
}

/** What ids cost in tokens differs from one to the next: here they are the same in every run. */
function countedIds() {
  let count = 0;
  return { next: () => `01a00000-0000-7000-8000-${String(++count).padStart(12, "0")}` };
}
