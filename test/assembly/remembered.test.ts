import { afterAll, describe, expect, it } from "vitest";
import { AgentRole } from "../../src/contract/gen/quire/v1/origin.js";
import { ToolKind } from "../../src/contract/gen/quire/v1/workspace.js";
import { assistant, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { bothDatabases } from "./both-databases.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "./travel-desk.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const event = { content: [{ content: { $case: "text" as const, value: { text: "Go." } } }] };
const tool = {
  name: "look",
  description: "Looks at a map.\0",
  inputSchemaJson: '{"type":"object"}',
  kind: ToolKind.OTHER,
  capability: "hotels",
  requiredPermissions: [],
  dangerous: false,
};

describe.each(bothDatabases(postgres))("on $name", ({ isMissing, open }) => {
  const test = it.skipIf(isMissing);

  test("a sub-agent's session keeps what it was spawned with, and inherits its parent's capsule", async () => {
    const { quire } = await open();
    await setUpTravelDesk(quire);
    await putCapsule(quire, "atlas");
    await quire.assembly.buildContext({ context: { ...deskRequest, capsule: "atlas" } });
    const { session } = await quire.ledger.createSession({
      label: "worker",
      subAgent: { parentSessionId: "desk", task: "Find a room." },
      defaults: { scope: { capabilities: ["hotels"] }, tools: { tools: [tool] } },
    });
    const defaults = {
      capsule: "atlas",
      role: AgentRole.WORKER,
      scope: { capabilities: ["hotels"], all: false },
      tools: { tools: [tool] },
    };
    expect(session!.defaults).toEqual(defaults);
    expect((await quire.ledger.getSession({ session: "worker" })).session).toEqual(session);
    const [listed] = (await quire.ledger.listSessions({ parentSession: "desk" })).sessions;
    expect(listed!.defaults).toEqual({ ...defaults, tools: undefined });
    const { context } = await quire.assembly.buildContext({ context: { session: "worker", event } });
    expect(context).toMatchObject({ capsule: "atlas", role: AgentRole.WORKER, tools: [tool] });
    // Conditional on the whole row as it was read, tools included.
    const updated = await quire.ledger.updateSession({ session: "worker", defaults: { model: "gpt-4.1" } });
    expect(updated.session!.defaults).toEqual({ ...defaults, model: "gpt-4.1" });
  });

  test("a receipt is in the database when its assembly is answered, and its turn takes from it what it answered", async () => {
    const { quire, engine } = await open();
    await setUpTravelDesk(quire);
    await putCapsule(quire, "atlas");
    const contexts = await Promise.all(
      Array.from({ length: 8 }, () =>
        quire.assembly.buildContext({ context: { ...deskRequest, capsule: "atlas" } }),
      ),
    );
    const ids = contexts.map(({ context }) => context!.assemblyId).sort();
    const rows = await engine.database.sqlReader.query("SELECT id FROM receipts ORDER BY id", []);
    expect(rows.map(([id]) => id)).toEqual(ids);
    const { headTurnId: parentTurnId } = (await quire.ledger.getSession({ session: "desk" })).session!;
    const recorded = await quire.ledger.recordTurn({
      session: "desk",
      parentTurnId,
      messages: [user("Book both."), assistant("Done.")],
      assemblyId: ids[0]!,
    });
    expect(recorded).toMatchObject({
      warnings: [],
      turn: { details: { agentRole: AgentRole.UNIFIED, model: "gpt-4o", toolset: "travel" } },
    });
  });
});
