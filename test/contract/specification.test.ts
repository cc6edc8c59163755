import { describe, expect, test } from "vitest";
import type { AssembledContext } from "../../src/contract/gen/quire/v1/assembly.js";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { PartialContext } from "../assembly/agent.js";
import { longSession } from "../assembly/long-session.js";
import { serveDesk } from "../assembly/served-desk.js";
import { deskRequest } from "../assembly/travel-desk.js";
import { foundCompaction, recordedTurn } from "../support/found-turn.js";
import { assistant, user } from "../support/messages.js";

/** Every field of the specification's tables, over the wire. The names give the section of "Context Assembly" (2026-02-06). */

type Rows<Of> = readonly (readonly [field: string, check: (of: Of) => void])[];

const context = { ...deskRequest, capsule: "atlas", role: AgentRole.MANAGER };

async function built(more: PartialContext = {}) {
  const { quire } = await serveDesk();
  const answer = await quire.assembly.buildContext({ context: { ...context, ...more } });
  return { quire, context: answer.context! };
}

const assembledContext: Rows<AssembledContext> = [
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
  ["modelConfig", ({ modelConfig }) => expect(modelConfig!.recallLimit).toBeGreaterThan(0)],
  ["tokenBudget", ({ tokenBudget }) => expect(tokenBudget!.used!.total).toBeGreaterThan(0)],
  ["sessionLabel", ({ sessionLabel }) => expect(sessionLabel).toBe("desk")],
  ["parentTurnId", ({ parentTurnId }) => expect(parentTurnId).toHaveLength(36)],
  ["role", ({ role }) => expect(role).toBe(AgentRole.MANAGER)],
  ["toolsetName", ({ toolset }) => expect(toolset).toBe("travel")],
  ["permissionsGranted", ({ permissionsGranted }) => expect(permissionsGranted).toEqual(["booking.read"])],
  ["sourceEventId", ({ sourceEventId }) => expect(sourceEventId).toBe("event-7")],
  ["workspacePath", ({ workspacePath }) => expect(workspacePath).toBe("/srv/desk")],
];

describe("AssembledContext Output", () => {
  test.each(assembledContext)("%s", async (_, check) => check((await built()).context));

  test("AgentResult: messages, tool calls, usage, stop reason, error", async () => {
    const { quire, context: sent } = await built();
    const { turn } = await quire.ledger.recordTurn({
      session: "desk",
      parentTurnId: sent.parentTurnId,
      messages: [user("And?")],
      result: {
        messages: [assistant("Sorry.")],
        usage: { inputTokens: 12, outputTokens: 3 },
        stopReason: "refusal",
        error: "the model refused",
      },
      status: TurnStatus.FAILED,
    });
    const { result } = recordedTurn(await quire.ledger.getTurn({ turnId: turn!.id }));
    expect(result).toMatchObject({
      calls: [],
      usage: { inputTokens: 12, outputTokens: 3 },
      stopReason: "refusal",
      error: "the model refused",
    });
    expect(result!.messages).toHaveLength(2);
  });
});

describe("Token Budget Management", () => {
  const fields = ["modelLimit", "reserveResponse", "reserveTools", "available", "remaining"] as const;
  test.each(fields)("Budget Calculation: %s", async (field) => {
    const { tokenBudget } = (await built()).context;
    expect(tokenBudget![field]).toBeGreaterThan(0);
  });

  test.each([
    "systemPrompt",
    "history",
    "event",
    "total",
  ] as const)("Budget Calculation: used.%s", async (field) => {
    const { tokenBudget } = (await built()).context;
    expect(tokenBudget!.used![field]).toBeGreaterThan(0);
  });

  test("Budget Calculation: remaining is available less what is used", async () => {
    const { available, used, remaining } = (await built()).context.tokenBudget!;
    expect(remaining).toBe(available - used!.total);
  });
});

describe("context_json on Messages", () => {
  test("system side: document and persona versions and hashes, capability count, snapshot time, memory", async () => {
    const { injected, contextJson } = (await built()).context.currentMessage!;
    const { system } = injected!;
    expect(system!.persona).toMatchObject({ capsule: "atlas", version: 1 });
    expect(system!.documents.map(({ path, version }) => [path, version])).toContainEqual(["AGENTS.md", 1]);
    for (const { hash } of system!.documents) expect(hash).toHaveLength(32);
    // One of the four is denied to the agent.
    expect(system!.environment!.capabilityCount).toBe(3);
    expect(system!.environment!.snapshotTime).toBeInstanceOf(Date);
    expect(system!.memory).toBeUndefined();
    expect(JSON.parse(contextJson)).toHaveProperty("system.environment.capabilityCount", 3);
  });

  test("user side: platform, hooks, attachments with lines, time of injection", async () => {
    const { injected } = (await built()).context.currentMessage!;
    expect(injected!.event).toMatchObject({ platform: "slack", hooks: ["weather"] });
    expect(injected!.attachments).toEqual([{ path: "ticket.pdf", firstLine: 3, lastLine: 9 }]);
    expect(injected!.injectTime).toBeInstanceOf(Date);
  });
});

describe("a turn, for ledger writes after execution", () => {
  test("takes role, model, provider, toolset, permissions, source event and workspace path from its context", async () => {
    const { quire, context: sent } = await built();
    const { assemblyId, parentTurnId } = sent;
    const messages = [user("Book both, please."), assistant("Done.")];
    const { turn } = await quire.ledger.recordTurn({ session: "desk", parentTurnId, assemblyId, messages });
    expect(turn).toMatchObject({
      parentTurnId,
      assemblyId,
      details: {
        agentRole: AgentRole.MANAGER,
        model: "gpt-4o",
        provider: "openai",
        toolset: "travel",
        permissionsGranted: ["booking.read"],
        sourceEvent: { id: "event-7", platform: "slack" },
        workspacePath: "/srv/desk",
      },
    });
  });
});

describe("Compaction-Aware History: the record of a compaction", () => {
  test("has summary, range, count, strategy and its parameters, model, tokens, duration, trigger, instructions", async () => {
    const { quire } = await serveDesk();
    await longSession(quire, "long", 8);
    const { compaction } = await quire.ledger.compact({
      session: "long",
      keepTurns: 2,
      instructions: "Be brief.",
    });
    expect(compaction).toMatchObject({
      compressionStrategy: "COMPRESSION_STRATEGY_SUMMARY",
      summarizer: "extractive",
      summarizedTurns: 6,
      trigger: "COMPACTION_TRIGGER_MANUAL",
      instructions: "Be brief.",
      parameters: { keep_turns: "2" },
    });
    const { summary, lastSummarizedTurnId, firstKeptTurnId, provider, model } = compaction!;
    for (const text of [summary, lastSummarizedTurnId, firstKeptTurnId, provider, model])
      expect(text).not.toBe("");
    const { tokensBefore, tokensAfter, summaryTokens } = compaction!;
    expect(tokensBefore).toBeGreaterThan(tokensAfter);
    expect(tokensAfter).toBeGreaterThan(summaryTokens);
    expect(foundCompaction(await quire.ledger.getTurn({ turnId: compaction!.id }))).toEqual(compaction);
  });
});

describe("MA vs WA Context Differences", () => {
  const scope = { task: "Find a room.", scopedCapabilities: ["hotels"] };
  const as = async (role: AgentRole, more: PartialContext = {}) => (await built({ role, ...more })).context;
  const lines = ({ currentMessage }: AssembledContext) => JSON.stringify(currentMessage!.contextParts);
  const names = ({ tools }: AssembledContext) => tools.map(({ name }) => name);

  test.each([
    AgentRole.MANAGER,
    AgentRole.UNIFIED,
    AgentRole.WORKER,
  ])("Workspace: %s has all of it", async (role) => {
    const { systemPrompt } = await as(role, scope);
    expect(systemPrompt).toContain("Never promise a refund.");
    expect(systemPrompt).toContain("Patient and exact.");
  });

  test("Environment: full for a manager and a unified agent, the scope for a worker", async () => {
    for (const role of [AgentRole.MANAGER, AgentRole.UNIFIED])
      expect((await as(role)).systemPrompt).toMatch(/flights ✅.*hotels/);
    const { systemPrompt } = await as(AgentRole.WORKER, scope);
    expect(systemPrompt).toContain("hotels");
    expect(systemPrompt).not.toMatch(/travel: .*flights/);
  });

  test("Platform context: not for a worker", async () => {
    for (const role of [AgentRole.MANAGER, AgentRole.UNIFIED])
      expect(lines(await as(role))).toContain("Platform: slack\\nAvailable actions: reply, react");
    expect(lines(await as(AgentRole.WORKER, scope))).not.toMatch(/slack|Available actions/);
  });

  test("Spawning and messaging tools: a worker may spawn, and replies to its manager only", async () => {
    expect(names(await as(AgentRole.MANAGER))).toEqual(["search", "rooms", "send", "spawn"]);
    expect(names(await as(AgentRole.UNIFIED))).toEqual(["search", "rooms", "send", "spawn"]);
    expect(names(await as(AgentRole.WORKER, scope))).toEqual(["rooms", "reply", "spawn"]);
  });

  test("the manager has messaging rules, the worker its task, the unified agent neither", async () => {
    expect((await as(AgentRole.MANAGER)).systemPrompt).toContain("# Manager Context");
    expect((await as(AgentRole.WORKER, scope)).systemPrompt).toContain("## Your Task\nFind a room.");
    expect((await as(AgentRole.UNIFIED)).systemPrompt).not.toMatch(/Manager Context|Your Task/);
  });

  test("Persona and history: a worker inherits its manager's persona and sees its own task's history only", async () => {
    const { quire } = await serveDesk();
    await quire.ledger.createSession({
      label: "worker",
      subAgent: { parentSessionId: "desk", task: "Find a room." },
      defaults: { capsule: "atlas" },
    });
    const { event } = deskRequest;
    const answer = await quire.assembly.buildContext({ context: { session: "worker", event } });
    expect(answer.context!.systemPrompt).toContain("You are Atlas.");
    expect(answer.context!.history).toEqual([]);
    expect(answer.context!.role).toBe(AgentRole.WORKER);
  });
});
