import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type AssembledContext,
  ConceptualLayer,
  PhysicalLayer,
  type Receipt,
} from "../../src/contract/gen/quire/v1/assembly.js";
import { CompactionTrigger, type CompactionTurn } from "../../src/contract/gen/quire/v1/compaction.js";
import type { InjectedContext } from "../../src/contract/gen/quire/v1/injected_context.js";
import { type Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { AgentRole, EventSource } from "../../src/contract/gen/quire/v1/origin.js";
import { type AgentResult, type Turn, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { sha256 } from "../../src/domain/hash.js";
import type { PartialContext } from "../assembly/agent.js";
import { tight } from "../assembly/compacted-session.js";
import { fold } from "../assembly/fold.js";
import { growSession, longSession } from "../assembly/long-session.js";
import { overGrpc } from "../assembly/over-grpc.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "../assembly/travel-desk.js";
import { foundCompaction, recordedTurn } from "../support/found-turn.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { startTestServer, type TestServer } from "../support/server.js";

/**
 * Every field of the specification's tables, over the wire. The names give the section of "Context Assembly" (2026-02-06), or
 * name the other document.
 */

type Rows<Of> = readonly (readonly [field: string, check: (of: Of) => void])[];
type Quire = ReturnType<typeof overGrpc>;

const request = { ...deskRequest, capsule: "atlas", role: AgentRole.MANAGER };
const workerRequest = { role: AgentRole.WORKER, task: "Find a room.", scope: { capabilities: ["hotels"] } };

let server: TestServer;
let quire: Quire;
let sent: AssembledContext;
let receipt: Receipt;

beforeAll(async () => {
  server = await startTestServer();
  quire = overGrpc(server.address);
  await setUpTravelDesk(quire);
  const thinking = { effort: "high", budgetTokens: 2_048 };
  const model = { model: "gpt-4o", provider: "openai", temperature: 0.3, maxTokens: 900, thinking };
  const knobs = { intelligenceLevel: 9, autonomyLevel: 4 };
  await putCapsule(quire, "atlas", { persona: { model, knobs } });
  sent = await build();
  receipt = (await quire.assembly.getReceipt({ assemblyId: sent.assemblyId })).receipt!;
});

afterAll(async () => {
  await quire?.close();
  await server?.stop();
});

async function build(more: PartialContext = {}): Promise<AssembledContext> {
  const answer = await quire.assembly.buildContext({ context: { ...request, ...more } });
  return answer.context!;
}

function textOf({ contextParts }: Message): string {
  const [part] = contextParts;
  return part?.content?.$case === "text" ? part.content.value.text : "";
}

describe("Mapping: Conceptual → Physical", () => {
  const { WORKSPACE, PERSONA, SESSION, EVENT } = ConceptualLayer;
  test.each([
    ["Workspace", WORKSPACE, PhysicalLayer.SYSTEM],
    ["Persona", PERSONA, PhysicalLayer.SYSTEM],
    ["Session", SESSION, PhysicalLayer.HISTORY],
    ["Event", EVENT, PhysicalLayer.CURRENT],
  ] as const)("%s", (_, layer, physical) => {
    const kept = receipt.candidates.filter((candidate) => candidate.layer === layer && candidate.kept);
    expect(kept.length).toBeGreaterThan(0);
    expect(new Set(kept.map((candidate) => candidate.physical))).toEqual(new Set([physical]));
  });

  test("Memory: nothing is recalled, and nothing stands in its place", () => {
    expect(receipt.candidates.filter(({ layer }) => layer === ConceptualLayer.MEMORY)).toEqual([]);
  });
});

describe("4. Static Runtime Info", () => {
  test("host, os, arch: in the system prompt", () => {
    expect(sent.systemPrompt).toContain("Runtime: host=desk-1 os=linux arch=x64");
  });

  test("model, provider: not in the system prompt, logged in the turn", async () => {
    expect(sent.systemPrompt).not.toMatch(/gpt-4o|openai/);
    expect((await recorded()).turn.details).toMatchObject({ model: "gpt-4o", provider: "openai" });
  });

  test("platform, platformActions: in the event's context", () => {
    expect(sent.systemPrompt).not.toMatch(/Platform: |Available actions: /);
    expect(textOf(sent.currentMessage!)).toContain("Platform: slack\nAvailable actions: reply, react\n");
  });

  test("time, timezone: in the event's context", () => {
    expect(sent.systemPrompt).not.toMatch(/Current time|Timezone|Vienna/);
    expect(textOf(sent.currentMessage!)).toMatch(
      /^Current time: \d{4}-\d\d-\d\dT[\d:.]+Z\nTimezone: Europe\/Vienna\n/,
    );
  });
});

describe("AssembledContext Output", () => {
  const rows: Rows<AssembledContext> = [
    ["systemPrompt", ({ systemPrompt }) => expect(systemPrompt).toContain("You are Atlas.")],
    ["history", ({ history }) => expect(history).toHaveLength(10)],
    [
      "currentMessage",
      ({ currentMessage }) => expect(currentMessage!.parts).toEqual(deskRequest.event.content),
    ],
    [
      "tools, filtered",
      ({ tools }) => expect(tools.map(({ name }) => name)).toEqual(["search", "rooms", "send", "spawn"]),
    ],
    ["model", ({ model }) => expect(model).toBe("gpt-4o")],
    ["provider", ({ provider }) => expect(provider).toBe("openai")],
    ["modelConfig.temperature", ({ modelConfig }) => expect(modelConfig!.temperature).toBe(0.3)],
    ["modelConfig.maxTokens", ({ modelConfig }) => expect(modelConfig!.maxTokens).toBe(900)],
    [
      "modelConfig.thinking",
      ({ modelConfig }) =>
        expect(modelConfig!.thinking).toMatchObject({ effort: "high", budgetTokens: 2_048 }),
    ],
    ["tokenBudget", ({ tokenBudget }) => expect(tokenBudget!.used!.total).toBeGreaterThan(0)],
    ["sessionLabel", ({ sessionLabel }) => expect(sessionLabel).toBe("desk")],
    ["parentTurnId", ({ parentTurnId, historyLayer }) => expect(parentTurnId).toBe(historyLayer!.lastTurnId)],
    ["role", ({ role }) => expect(role).toBe(AgentRole.MANAGER)],
    ["toolsetName", ({ toolset }) => expect(toolset).toBe("travel")],
    ["permissionsGranted", ({ permissionsGranted }) => expect(permissionsGranted).toEqual(["booking.read"])],
    ["sourceEventId", ({ sourceEventId }) => expect(sourceEventId).toBe("event-7")],
    ["workspacePath", ({ workspacePath }) => expect(workspacePath).toBe("/srv/desk")],
  ];
  test.each(rows)("%s", (_, check) => check(sent));
});

/** A turn that answers a context, written into a session of its own. */
async function recorded(status: TurnStatus = TurnStatus.COMPLETED) {
  const label = `turn-${++turns}`;
  await quire.ledger.createSession({ label });
  const { assemblyId } = await build({ session: label });
  const { turn } = await quire.ledger.recordTurn({
    session: label,
    assemblyId,
    messages: [user("Book both, please.")],
    result: {
      messages: [toolCalls("c1", "c2"), toolResults("c1"), toolResults("c2"), assistant("Done.")],
      usage: { inputTokens: 1_200, outputTokens: 30, cachedInputTokens: 900 },
      stopReason: "end_turn",
      error: status === TurnStatus.FAILED ? "the model refused" : "",
      permissionsUsed: ["booking.read"],
    },
    status,
  });
  const found = recordedTurn(await quire.ledger.getTurn({ turnId: turn!.id }));
  return { label, assemblyId, turn: found.turn!, result: found.result! };
}

let turns = 0;

describe("AssembledContext Output: AgentResult", () => {
  const rows: Rows<AgentResult> = [
    [
      "messages",
      ({ messages }) =>
        expect(messages.map(({ role }) => role)).toEqual([
          MessageRole.USER,
          MessageRole.ASSISTANT,
          MessageRole.TOOL,
          MessageRole.TOOL,
          MessageRole.ASSISTANT,
        ]),
    ],
    [
      "toolCalls, with results",
      ({ calls }) =>
        expect(calls.map(({ call, result }) => [call!.callId, call!.name, result!.callId])).toEqual([
          ["c1", "search", "c1"],
          ["c2", "search", "c2"],
        ]),
    ],
    ["usage", ({ usage }) => expect(usage).toMatchObject({ inputTokens: 1_200, outputTokens: 30 })],
    ["stopReason", ({ stopReason }) => expect(stopReason).toBe("end_turn")],
    ["error", ({ error }) => expect(error).toBe("the model refused")],
  ];
  test.each(rows)("%s", async (_, check) => check((await recorded(TurnStatus.FAILED)).result));
});

describe("AssembledContext Output: what a turn keeps, for ledger writes after execution", () => {
  type Recorded = Awaited<ReturnType<typeof recorded>>;
  const details = (check: (details: NonNullable<Turn["details"]>) => void) => (of: Recorded) =>
    check(of.turn.details!);
  const rows: Rows<Recorded> = [
    [
      "sessionLabel",
      async ({ label, turn }) =>
        expect(turn.sessionId).toBe((await quire.ledger.getSession({ session: label })).session!.id),
    ],
    ["parentTurnId", ({ turn }) => expect(turn.parentTurnId).toBe("")],
    ["role", details(({ agentRole }) => expect(agentRole).toBe(AgentRole.MANAGER))],
    ["model", details(({ model }) => expect(model).toBe("gpt-4o"))],
    ["provider", details(({ provider }) => expect(provider).toBe("openai"))],
    ["toolsetName", details(({ toolset }) => expect(toolset).toBe("travel"))],
    [
      "permissionsGranted",
      details(({ permissionsGranted }) => expect(permissionsGranted).toEqual(["booking.read"])),
    ],
    [
      "sourceEventId",
      details(({ sourceEvent }) =>
        expect(sourceEvent).toEqual({ id: "event-7", source: EventSource.UNSPECIFIED, platform: "slack" }),
      ),
    ],
    ["workspacePath", details(({ workspacePath }) => expect(workspacePath).toBe("/srv/desk"))],
    ["the assembly that it answers", ({ turn, assemblyId }) => expect(turn.assemblyId).toBe(assemblyId)],
    [
      "Token Counting Strategy: turns.total_tokens",
      ({ turn, result }) =>
        expect(turn.o200kTokens).toBe(result.messages.reduce((sum, { o200kTokens }) => sum + o200kTokens, 0)),
    ],
    [
      "Open Questions: cached_input_tokens, tracked in the ledger",
      ({ turn }) => expect(turn.usage!.cachedInputTokens).toBe(900),
    ],
  ];
  test.each(rows)("%s", async (_, check) => check(await recorded()));
});

describe("Token Budget Management: Budget Calculation", () => {
  const rows: Rows<NonNullable<AssembledContext["tokenBudget"]>> = [
    ["modelLimit", ({ modelLimit }) => expect(modelLimit).toBe(128_000)],
    ["reserveResponse", ({ reserveResponse }) => expect(reserveResponse).toBe(8_192)],
    ["reserveTools", ({ reserveTools }) => expect(reserveTools).toBe(16_384)],
    [
      "available: the limit less the reserves",
      ({ available, modelLimit, reserveResponse, reserveTools }) =>
        expect(available).toBe(modelLimit - reserveResponse - reserveTools),
    ],
    ["used.systemPrompt", ({ used }) => expect(used!.systemPrompt).toBeGreaterThan(0)],
    ["used.history", ({ used }) => expect(used!.history).toBeGreaterThan(0)],
    ["used.event", ({ used }) => expect(used!.event).toBeGreaterThan(0)],
    [
      "used.total: the sum of all parts",
      ({ used }) => {
        const { systemPrompt, history, event, tools, memory, total } = used!;
        expect(total).toBe(systemPrompt + history + event + tools + memory);
      },
    ],
    [
      "remaining: available less what is used",
      ({ remaining, available, used }) => expect(remaining).toBe(available - used!.total),
    ],
  ];
  test.each(rows)("%s", (_, check) => check(sent.tokenBudget!));
});

describe("Token Limits by Model", () => {
  test.each([
    ["claude-sonnet-4", 200_000],
    ["claude-opus-4", 200_000],
    ["gpt-4o", 128_000],
    ["o1", 200_000],
    ["o3", 200_000],
    ["claude-sonnet-4-20250514", 200_000],
    ["nobody-knows-it", 128_000],
  ])("%s", async (model, limit) => {
    expect((await build({ model, dryRun: true })).tokenBudget!.modelLimit).toBe(limit);
  });
});

describe("Context Assembly (2026-02-02), Token Budget Management", () => {
  const used = (layer: ConceptualLayer) => (budget: NonNullable<AssembledContext["tokenBudget"]>) =>
    budget.layers.find((use) => use.layer === layer)!.used;
  const { WORKSPACE, PERSONA, SESSION, MEMORY, EVENT } = ConceptualLayer;
  test("workspace, persona and event: what each layer uses", () => {
    for (const layer of [WORKSPACE, PERSONA, EVENT])
      expect(used(layer)(sent.tokenBudget!)).toBeGreaterThan(0);
  });

  test("history: what the session's layer uses", () => {
    expect(used(SESSION)(sent.tokenBudget!)).toBe(sent.tokenBudget!.used!.history);
  });

  test("cortex: what memory uses", () => {
    expect(used(MEMORY)(sent.tokenBudget!)).toBe(0);
  });
});

describe("context_json on Messages", () => {
  /** The first message of a turn that answers a context, and its answer, as they are stored. */
  const stored = async () => {
    const [question, ...answers] = (await recorded()).result.messages;
    const json = JSON.parse(question!.contextJson) as Record<string, never>;
    return { question: question!, answers, injected: question!.injected!, json };
  };
  type Stored = Awaited<ReturnType<typeof stored>>;
  const system =
    (check: (system: NonNullable<InjectedContext["system"]>, of: Stored) => void) => (of: Stored) =>
      check(of.injected.system!, of);
  const rows: Rows<Stored> = [
    [
      "system: workspace.agentsMdHash",
      system(({ documents }) => {
        const content = "# Rules\n\n- Answer in full sentences.\n- Never promise a refund.";
        expect(documents[0]).toMatchObject({ path: "AGENTS.md", hash: sha256(Buffer.from(content)) });
      }),
    ],
    ["system: workspace.version", system(({ documents }) => expect(documents[0]!.version).toBe(1))],
    [
      "system: persona.id",
      system(({ persona }, { json }) => {
        expect(persona).toMatchObject({ capsule: "atlas", version: 1 });
        expect(json).toHaveProperty("system.persona.capsule", "atlas");
      }),
    ],
    [
      "system: persona.soulHash",
      system(({ documents }) =>
        expect(documents.find(({ path }) => path === "SOUL.md")!.hash).toEqual(
          sha256(Buffer.from("Patient and exact.")),
        ),
      ),
    ],
    [
      // One of the four is denied to the agent.
      "system: nexusEnv.capabilityCount",
      system(({ environment }, { json }) => {
        expect(environment!.capabilityCount).toBe(3);
        expect(json).toHaveProperty("system.environment.capabilityCount", 3);
      }),
    ],
    [
      "system: nexusEnv.snapshotAt",
      system(({ environment }, { json }) => {
        expect(environment!.snapshotTime).toBeInstanceOf(Date);
        expect(json).toHaveProperty("system.environment.snapshotTime", expect.stringMatching(/\.\d{3}Z$/));
      }),
    ],
    [
      "system: capability snapshot hash",
      system(({ environment }) => expect(environment!.snapshotHash).toHaveLength(32)),
    ],
    ["system: memory", system(({ memory }) => expect(memory).toBeUndefined())],
    ["user: event.platform", ({ injected }) => expect(injected.event!.platform).toBe("slack")],
    [
      "user: event.hookCount, by their names",
      ({ injected, json }) => {
        expect(injected.event!.hooks).toEqual(["weather"]);
        expect(json).toHaveProperty("event.hooks", ["weather"]);
      },
    ],
    [
      "user: attachments, path and lines",
      ({ injected, json }) => {
        expect(injected.attachments).toEqual([{ path: "ticket.pdf", firstLine: 3, lastLine: 9 }]);
        expect(json).toHaveProperty("attachments", [{ path: "ticket.pdf", firstLine: 3, lastLine: 9 }]);
      },
    ],
    [
      "user: injectedAt",
      ({ injected, json }) => {
        expect(injected.injectTime).toBeInstanceOf(Date);
        expect(json).toHaveProperty("injectTime", expect.stringMatching(/\.\d{3}Z$/));
      },
    ],
    [
      "assistant: nothing",
      ({ answers }) =>
        expect(answers.map(({ contextJson, injected }) => [contextJson, injected])).toEqual(
          answers.map(() => ["", undefined]),
        ),
    ],
  ];
  test.each(rows)("%s", async (_, check) => check(await stored()));
});

describe("Compaction-Aware History: the record of a compaction", () => {
  let compaction: CompactionTurn;
  let ids: readonly string[];

  beforeAll(async () => {
    await longSession(quire, "long", 8);
    ids = (await quire.ledger.listTurns({ session: "long" })).turns.map(({ id }) => id).reverse();
    const instructions = "Be brief.";
    const made = await quire.ledger.compact({ session: "long", keepTurns: 2, instructions });
    compaction = foundCompaction(await quire.ledger.getTurn({ turnId: made.compaction!.id }));
  });

  const rows: Rows<CompactionTurn> = [
    ["summary", ({ summary }) => expect(summary).toContain("parcel")],
    ["last summarized turn", ({ lastSummarizedTurnId }) => expect(lastSummarizedTurnId).toBe(ids[5])],
    ["firstKeptTurnId", ({ firstKeptTurnId }) => expect(firstKeptTurnId).toBe(ids[6])],
    ["message index", ({ firstKeptMessageIndex }) => expect(firstKeptMessageIndex).toBe(0)],
    ["count of turns", ({ summarizedTurns }) => expect(summarizedTurns).toBe(6)],
    [
      "strategy",
      ({ compressionStrategy }) => expect(compressionStrategy).toBe("COMPRESSION_STRATEGY_SUMMARY"),
    ],
    ["its parameters", ({ parameters }) => expect(parameters).toMatchObject({ keep_turns: "2" })],
    ["model", ({ model }) => expect(model).toBe("extractive-1")],
    ["provider", ({ provider }) => expect(provider).toBe("quire")],
    [
      "tokens before, after and of the summary",
      ({ tokensBefore, tokensAfter, summaryTokens }) => {
        expect(tokensBefore).toBeGreaterThan(tokensAfter);
        expect(tokensAfter).toBeGreaterThan(summaryTokens);
        expect(summaryTokens).toBeGreaterThan(0);
      },
    ],
    ["trigger", ({ trigger }) => expect(trigger).toBe(CompactionTrigger.MANUAL)],
    ["instructions", ({ instructions }) => expect(instructions).toBe("Be brief.")],
  ];
  test.each(rows)("%s", (_, check) => check(compaction));

  test("model, provider, tokens of the call and duration, of a summary that an engine's own model made", async () => {
    await longSession(quire, "by-engine", 12);
    const context = tight("by-engine", 600, { summarizers: { names: ["engine"] } });
    const needed = (await fold(quire.assembly.assemble({ context }))).compaction.at(-1);
    if (needed?.$case !== "needed") throw new Error("no summary was asked for");
    const of = {
      model: "some-model",
      provider: "some-provider",
      inputTokens: 900,
      outputTokens: 20,
      durationMs: 7,
    };
    const summary = "They asked about a parcel by the river.";
    const { planToken } = needed.value;
    const made = await quire.ledger.submitCompaction({ session: "by-engine", planToken, summary, ...of });
    expect(made.compaction).toMatchObject({ summary, summarizer: "engine", ...of });
  });

  test("history is the summary as a user's message with its mark, then the kept turns", async () => {
    const { history } = await build({ session: "long" });
    const [first, ...rest] = history;
    expect(first).toMatchObject({ role: MessageRole.USER, id: compaction.id });
    expect(first!.parts[0]!.content).toMatchObject({
      value: { text: `[Previous conversation summary]\n${compaction.summary}` },
    });
    expect(new Set(rest.map(({ turnId }) => turnId))).toEqual(new Set(ids.slice(6)));
  });

  test("the latest compaction counts", async () => {
    await growSession(quire, "long", [9, 12], ids.at(-1)!);
    const made = await quire.ledger.compact({ session: "long", keepTurns: 1 });
    const { historyLayer } = await build({ session: "long" });
    expect(historyLayer!.compactionId).toBe(made.compaction!.id);
  });
});

describe("Overflow Prevention and Recovery: when a compaction is made, and down to what", () => {
  test("context_limit: before a turn, to 60 % of what is available", async () => {
    await longSession(quire, "full", 12);
    const { compaction, completed } = await fold(quire.assembly.assemble({ context: tight("full", 600) }));
    expect(compaction.at(-1)).toMatchObject({
      $case: "finished",
      value: { trigger: CompactionTrigger.CONTEXT_LIMIT },
    });
    const { available, used } = completed.budget!;
    expect(used!.total).toBeLessThanOrEqual(available * 0.6);
  });

  test("overflow_recovery: after the model refused, to 40 %, and once", async () => {
    await longSession(quire, "refused", 12);
    const context = tight("refused", 2_000);
    const refused = await fold(quire.assembly.assemble({ context }));
    const { assemblyId } = refused.completed;
    const { compaction } = await quire.assembly.reportOverflow({ assemblyId });
    expect(compaction!.trigger).toBe(CompactionTrigger.OVERFLOW_RECOVERY);
    const again = await fold(quire.assembly.assemble({ context }));
    const { available, used } = again.completed.budget!;
    expect(used!.total).toBeLessThanOrEqual(available * 0.4);
    await expect(
      quire.assembly.reportOverflow({ assemblyId: again.completed.assemblyId }),
    ).rejects.toMatchObject({ message: expect.stringContaining("too long again") });
  });
});

describe("MA vs WA Context Differences", () => {
  const of = new Map<AgentRole, AssembledContext>();
  const as = (role: AgentRole) => of.get(role)!;
  const { MANAGER, WORKER, UNIFIED } = AgentRole;
  const names = (role: AgentRole) => as(role).tools.map(({ name }) => name);

  beforeAll(async () => {
    of.set(MANAGER, sent);
    of.set(UNIFIED, await build({ role: UNIFIED }));
    of.set(WORKER, await build(workerRequest));
  });

  test.each([MANAGER, UNIFIED, WORKER])("Workspace: %s has all of it", (role) => {
    expect(as(role).systemPrompt).toContain("Never promise a refund.");
    expect(as(role).systemPrompt).toContain("Patient and exact.");
  });

  test.each([MANAGER, UNIFIED])("Persona identity: %s has its own", (role) => {
    expect(as(role).systemPrompt).toContain("You are Atlas.");
  });

  test("Persona identity and Session history: a worker inherits its manager's persona, and sees its own task's history only", async () => {
    const parent = (await quire.ledger.getSession({ session: "desk" })).session!;
    await quire.ledger.createSession({
      label: "worker",
      subAgent: { parentSessionId: parent.id, task: "Find a room." },
    });
    const { event } = deskRequest;
    const answer = await quire.assembly.buildContext({ context: { session: "worker", event } });
    expect(answer.context).toMatchObject({ capsule: "atlas", role: WORKER, history: [] });
    expect(answer.context!.systemPrompt).toContain("You are Atlas.");
  });

  test.each([MANAGER, UNIFIED])("Nexus environment: %s has all capabilities", (role) => {
    expect(as(role).systemPrompt).toMatch(/flights ✅.*hotels/);
  });

  test("Nexus environment: a worker has those of its task", () => {
    expect(as(WORKER).systemPrompt).toContain("hotels");
    expect(as(WORKER).systemPrompt).not.toMatch(/travel: .*flights/);
  });

  test.each([MANAGER, UNIFIED])("Platform context: %s has platform and actions", (role) => {
    expect(textOf(as(role).currentMessage!)).toContain("Platform: slack\nAvailable actions: reply, react");
  });

  test("Platform context: a worker has none", () => {
    expect(textOf(as(WORKER).currentMessage!)).not.toMatch(/slack|Available actions/);
  });

  test.each([MANAGER, UNIFIED])("Session history: %s has the whole thread", (role) => {
    expect(as(role).history).toHaveLength(10);
  });

  test.each([MANAGER, UNIFIED, WORKER])("Memory injection: %s has none so far", (role) => {
    expect(as(role).tokenBudget!.used!.memory).toBe(0);
  });

  test.each([MANAGER, UNIFIED, WORKER])("Spawning capability: %s can spawn", (role) => {
    expect(names(role)).toContain("spawn");
  });

  test.each([MANAGER, UNIFIED])("Messaging tools: %s has them all, and nobody to report to", (role) => {
    expect(names(role)).toContain("send");
    expect(names(role)).not.toContain("reply");
  });

  test("Messaging tools: a worker replies to its manager only", () => {
    expect(names(WORKER)).toContain("reply");
    expect(names(WORKER)).not.toContain("send");
  });

  test("System Prompt Construction: the manager has messaging rules, the worker its task, the unified agent neither", () => {
    expect(as(MANAGER).systemPrompt).toContain("# Manager Context");
    expect(as(WORKER).systemPrompt).not.toContain("# Manager Context");
    expect(as(UNIFIED).systemPrompt).not.toMatch(/Manager Context|Your Task/);
  });

  test("Worker Agent System Prompt: its words, with the task, then workspace, identity and environment", () => {
    const { systemPrompt } = as(WORKER);
    const inOrder = [
      "# Subagent Context\n\nYou are a **worker agent** spawned for a specific task.",
      "## Your Task\nFind a room.",
      "## Rules\n1. Stay focused — do your assigned task, nothing else\n2. Complete the task — your final message reports back to the manager\n3. Don't initiate — no proactive actions, no side quests\n4. Be ephemeral — you may be terminated after completion",
      "## What You DON'T Do\n- NO user conversations (manager's job)\n- NO external messages unless explicitly tasked\n- NO persistent state changes outside your task scope",
      "# Rules\n\n- Answer in full sentences.",
      "You are Atlas.",
      "## Environment",
    ].map((words) => systemPrompt.indexOf(words));
    expect(inOrder[0]).toBe(0);
    expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
    expect(inOrder).not.toContain(-1);
  });
});
