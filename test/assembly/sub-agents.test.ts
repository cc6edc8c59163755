import { describe, expect, test } from "vitest";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { ToolKind } from "../../src/contract/gen/quire/v1/workspace.js";
import type { Quire } from "../../src/index.js";
import { assistant, user } from "../support/messages.js";
import { failure } from "../support/server.js";
import { type ServedDesk, serveDesk } from "./served-desk.js";
import { deskRequest, putCapsule } from "./travel-desk.js";

const task = "Find a room near the airport.";
const event = { content: [{ content: { $case: "text" as const, value: { text: "Go." } } }] };
const scope = { capabilities: ["hotels", "stripe"] };
const place = { workspace: "desk", toolset: "travel" };
const look = { name: "look", description: "Looks at a map.", kind: ToolKind.OTHER, capability: "hotels" };

/** Spawned by the desk's session, which has been assembled with its capsule before. */
async function spawn(quire: Quire, more: Parameters<Quire["ledger"]["createSession"]>[0] = {}) {
  const { session } = await quire.ledger.createSession({
    label: "worker",
    ...more,
    subAgent: { parentSessionId: "desk", task, ...more.subAgent },
  });
  return session!;
}

async function build(
  quire: Quire,
  context: Parameters<Quire["assembly"]["buildContext"]>[0]["context"] = {},
) {
  return (await quire.assembly.buildContext({ context: { session: "worker", event, ...context } })).context!;
}

async function assembleManager({ quire }: ServedDesk, capsule = "atlas"): Promise<string> {
  return (await quire.assembly.buildContext({ context: { ...deskRequest, capsule } })).context!.assemblyId;
}

describe("a sub-agent", () => {
  test("remembers role, task, scope, capsule and tools: a context needs the session and the event", async () => {
    const { quire } = await serveDesk();
    const spawned = await spawn(quire, {
      defaults: { capsule: "atlas", scope, tools: { tools: [look] }, ...place },
    });
    expect(spawned).toMatchObject({
      subAgent: { task },
      defaults: { capsule: "atlas", role: AgentRole.WORKER, scope, tools: { tools: [look] }, ...place },
    });
    expect((await quire.ledger.getSession({ session: "worker" })).session).toEqual(spawned);
    const context = await build(quire);
    expect(context).toMatchObject({
      role: AgentRole.WORKER,
      capsule: "atlas",
      toolset: "travel",
      workspacePath: "/srv/desk",
    });
    expect(context.systemPrompt).toContain(task);
    expect(context.tools.map(({ name }) => name)).toEqual(["rooms", "reply", "spawn", "look"]);
  });

  test("sees only its scope in the environment, broken credentials included", async () => {
    const { quire } = await serveDesk();
    await spawn(quire, { defaults: { capsule: "atlas", scope, workspace: "desk" } });
    const { systemPrompt } = await build(quire);
    expect(systemPrompt).toContain("\n\n### Capabilities\ntravel: hotels ⭐ (ready)\n\n");
    expect(systemPrompt).toContain("\n\n### Credentials\n1 broken (stripe)\n\nRuntime:");
    const narrowed = await build(quire, { scope: { capabilities: ["flights"] } });
    expect(narrowed.systemPrompt).toContain("travel: flights ✅");
    expect(narrowed.systemPrompt).not.toMatch(/stripe|hotels/);
    const none = await build(quire, { scope: {} });
    expect(none.systemPrompt).not.toMatch(/stripe|hotels|flights/);
    const all = await build(quire, { scope: { all: true } });
    for (const name of ["hotels", "flights"]) expect(all.systemPrompt).toContain(name);
    const both = build(quire, { scope: { all: true, capabilities: ["hotels"] } });
    expect(await failure(both)).toMatchObject({ fields: ["context.scope.capabilities"] });
  });

  test("is what the request says where that names something else, for that assembly", async () => {
    const { quire } = await serveDesk();
    await putCapsule(quire, "other");
    await spawn(quire, {
      defaults: { capsule: "atlas", model: "gpt-4.1", tools: { tools: [look] }, ...place },
    });
    const tools = [{ ...look, name: "peek" }];
    const named = { capsule: "other", role: AgentRole.UNIFIED, model: "gpt-4o", tools };
    const context = await build(quire, { ...named, workspace: "" });
    expect(context).toMatchObject({ ...named, toolset: "", workspacePath: "" });
    expect(context.systemPrompt).not.toContain(task);
    expect((await build(quire, { task: "Rest." })).systemPrompt).toContain("Rest.");
    expect(await build(quire)).toMatchObject({ capsule: "atlas", model: "gpt-4.1", toolset: "travel" });
  });

  test("without a task is refused if it is a worker, when it is created, changed and assembled", async () => {
    const { quire } = await serveDesk();
    const refused = { reason: "INVALID_FIELD", fields: ["sub_agent.task"] };
    expect(await failure(spawn(quire, { subAgent: { task: "" } }))).toMatchObject(refused);
    const noLink = quire.ledger.createSession({ defaults: { role: AgentRole.WORKER } });
    expect(await failure(noLink)).toMatchObject(refused);
    const unified = { subAgent: { task: "" }, defaults: { role: AgentRole.UNIFIED } };
    expect((await spawn(quire, unified)).defaults!.role).toBe(AgentRole.UNIFIED);
    const update = (change: Parameters<Quire["ledger"]["updateSession"]>[0]) =>
      quire.ledger.updateSession({ session: "worker", ...change });
    expect(await failure(update({ defaults: { role: AgentRole.WORKER } }))).toMatchObject(refused);
    await update({ defaults: { role: AgentRole.WORKER }, task });
    expect(await failure(update({ task: "" }))).toMatchObject({ ...refused, fields: ["task"] });
    const context = { ...deskRequest, capsule: "atlas", role: AgentRole.WORKER };
    expect(await failure(quire.assembly.buildContext({ context }))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["context.task"],
    });
  });

  test("is changed by UpdateSession: what is absent stays, what is empty is forgotten", async () => {
    const { quire } = await serveDesk();
    await spawn(quire, { defaults: { capsule: "atlas", scope, tools: { tools: [look] } } });
    const defaults = { model: "gpt-4.1", scope: { all: true }, capsule: "other" };
    const changed = await quire.ledger.updateSession({ session: "worker", defaults, task: "Rest." });
    expect(changed.session).toMatchObject({
      subAgent: { task: "Rest." },
      defaults: { capsule: "other", role: AgentRole.WORKER, model: "gpt-4.1", tools: { tools: [look] } },
    });
    expect(changed.session!.defaults!.scope).toBeUndefined();
    const forgotten = { capsule: "", role: AgentRole.UNSPECIFIED, model: "", tools: {} };
    const { session } = await quire.ledger.updateSession({ session: "worker", defaults: forgotten });
    expect(session!.defaults).toBeUndefined();
    const noTask = quire.ledger.updateSession({ session: "desk", task: "x" });
    expect(await failure(noTask)).toMatchObject({ reason: "NO_TASK" });
  });
});

describe("a sub-agent without a capsule of its own inherits", () => {
  test("that of the assembly which its parent turn answers, before all others", async () => {
    const desk = await serveDesk();
    const { quire } = desk;
    await putCapsule(quire, "other", { persona: { corePrompt: "You are Other." } });
    const assemblyId = await assembleManager(desk, "other");
    const { headTurnId: parentTurnId } = (await quire.ledger.getSession({ session: "desk" })).session!;
    const messages = [user("Book both.")];
    const { turn } = await quire.ledger.beginTurn({ session: "desk", parentTurnId, messages, assemblyId });
    await assembleManager(desk, "atlas");
    await quire.ledger.updateSession({ session: "desk", defaults: { capsule: "atlas" } });
    const spawned = await spawn(quire, { subAgent: { parentTurnId: turn!.id } });
    expect(spawned.defaults!.capsule).toBe("other");
    expect((await build(quire)).systemPrompt).toContain("You are Other.");
  });

  test("the one that the parent session remembers, else that of its newest assembly", async () => {
    const desk = await serveDesk();
    const { quire } = desk;
    await putCapsule(quire, "other");
    await assembleManager(desk, "other");
    await assembleManager(desk, "atlas");
    expect((await spawn(quire)).defaults!.capsule).toBe("atlas");
    await quire.ledger.updateSession({ session: "desk", defaults: { capsule: "other" } });
    expect((await spawn(quire, { label: "second" })).defaults!.capsule).toBe("other");
    const nested = { label: "third", subAgent: { parentSessionId: "second" } };
    expect((await spawn(quire, nested)).defaults!.capsule).toBe("other");
  });

  test("what its parent comes to know later, and where nobody knows one the request must", async () => {
    const { quire } = await serveDesk();
    expect((await spawn(quire)).defaults).toEqual({ role: AgentRole.WORKER });
    expect(await failure(build(quire))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["context.capsule"],
      message: expect.stringContaining("neither the session nor its parent"),
    });
    expect((await build(quire, { capsule: "atlas" })).capsule).toBe("atlas");
    await quire.ledger.updateSession({ session: "desk", defaults: { capsule: "atlas" } });
    expect((await build(quire)).capsule).toBe("atlas");
  });

  test("the same when the request is sent again, and keeps it when the parent is deleted", async () => {
    const desk = await serveDesk();
    const { quire } = desk;
    await assembleManager(desk);
    const first = await spawn(quire, { requestId: "r" });
    await quire.ledger.deleteSession({ session: "desk" });
    expect(await spawn(quire, { requestId: "r" })).toEqual(first);
    expect((await build(quire)).capsule).toBe("atlas");
  });
});

describe("what a session remembers", () => {
  test("is a fork's, too, with the task", async () => {
    const { quire } = await serveDesk();
    const { defaults } = await spawn(quire, { defaults: { capsule: "atlas", scope } });
    await quire.ledger.recordTurn({ session: "worker", messages: [user("Go."), assistant("Gone.")] });
    const { session } = await quire.ledger.forkSession({ session: "worker", label: "fork" });
    expect(session!.defaults).toEqual(defaults);
    expect((await build(quire, { session: "fork" })).systemPrompt).toContain(task);
  });

  test("is listed without its tools, and its bounds are checked", async () => {
    const { quire } = await serveDesk();
    await spawn(quire, { defaults: { capsule: "atlas", tools: { tools: [look] } } });
    const { sessions } = await quire.ledger.listSessions({ labelPrefix: "worker" });
    expect(sessions[0]!.defaults).toMatchObject({ capsule: "atlas", tools: undefined });
    const tooMany = { tools: { tools: Array.from({ length: 20 }, (_, at) => large(at)) } };
    expect(await failure(spawn(quire, { label: "w2", defaults: tooMany }))).toMatchObject({
      reason: "INVALID_FIELD",
      fields: ["defaults.tools"],
    });
    const long = { capsule: "x".repeat(257), scope: { capabilities: [""] } };
    expect(await failure(spawn(quire, { label: "w3", defaults: long }))).toMatchObject({
      fields: ["defaults.capsule", "defaults.scope.capabilities[0]"],
    });
  });
});

function large(at: number) {
  return { ...look, name: `t${at}`, description: "x".repeat(60_000) };
}
