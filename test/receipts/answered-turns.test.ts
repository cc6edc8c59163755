import { describe, expect, test } from "vitest";
import { OnBusy } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { AgentRole, EventSource } from "../../src/contract/gen/quire/v1/origin.js";
import { type ServedDesk, serveDesk } from "../assembly/served-desk.js";
import { deskRequest } from "../assembly/travel-desk.js";
import { recordedTurn } from "../support/found-turn.js";
import { assistant, user } from "../support/messages.js";
import { failure } from "../support/server.js";

const context = {
  ...deskRequest,
  capsule: "atlas",
  role: AgentRole.MANAGER,
  event: { ...deskRequest.event, source: EventSource.HUMAN },
};
const lost = "0198c0de-0000-7000-8000-000000000001";
const ofTheAssembly = {
  agentRole: AgentRole.MANAGER,
  model: "gpt-4o",
  provider: "openai",
  toolset: "travel",
  permissionsGranted: ["booking.read"],
  sourceEvent: { id: "event-7", source: EventSource.HUMAN, platform: "slack" },
  workspacePath: "/srv/desk",
};

/** A turn under the head of the desk's session. */
async function turnOf({ quire }: ServedDesk, assemblyId: string) {
  const { session } = await quire.ledger.getSession({ session: "desk" });
  const messages = [user("Book both."), assistant("Done.")];
  return { session: "desk", parentTurnId: session!.headTurnId, messages, assemblyId };
}

async function assembled({ quire }: ServedDesk): Promise<string> {
  return (await quire.assembly.buildContext({ context })).context!.assemblyId;
}

describe("a turn that names its assembly", () => {
  test("takes role, model, provider, toolset, permissions, source event and workspace path from it", async () => {
    const desk = await serveDesk();
    const assemblyId = await assembled(desk);
    const recorded = await desk.quire.ledger.recordTurn(await turnOf(desk, assemblyId));
    expect(recorded.warnings).toEqual([]);
    const { turn } = recordedTurn(await desk.quire.ledger.getTurn({ turnId: recorded.turn!.id }));
    expect(turn).toMatchObject({ assemblyId, details: ofTheAssembly });
    const begun = await desk.quire.ledger.beginTurn(await turnOf(desk, await assembled(desk)));
    expect(begun.turn!.details).toMatchObject(ofTheAssembly);
  });

  test("an open turn takes them from the first assembly that its messages name, and from no later one", async () => {
    const desk = await serveDesk();
    const { ledger } = desk.quire;
    const begin = async () => {
      const details = { metadata: { attempt: "2" }, toolset: "own" };
      return (await ledger.beginTurn({ session: "desk", details, lease: { onBusy: OnBusy.INTERRUPT } }))
        .turn!;
    };
    const { id: turnId } = await begin();
    const assemblyId = await assembled(desk);
    const taken = { ...ofTheAssembly, toolset: "own", metadata: { attempt: "2" } };
    const appended = await ledger.appendMessages({ turnId, assemblyId, messages: [user("Book both.")] });
    expect(appended.turn).toMatchObject({ assemblyId, details: taken });
    const later = (await desk.quire.assembly.buildContext({ context: { ...context, model: "gpt-4.1" } }))
      .context!;
    const messages = [assistant("Done.")];
    const completed = await ledger.completeTurn({
      turnId,
      assemblyId: later.assemblyId,
      result: { messages },
    });
    expect(completed.turn).toMatchObject({ assemblyId, details: taken });

    const { id: atItsEnd } = await begin();
    const whole = await ledger.completeTurn({
      turnId: atItsEnd,
      assemblyId: await assembled(desk),
      result: { messages: [user("And back."), assistant("Done.")] },
    });
    expect(whole.turn!.details).toEqual({ ...completed.turn!.details });
  });

  test("keeps what its caller says instead, field by field and the event whole", async () => {
    const desk = await serveDesk();
    const details = {
      model: "gpt-4.1",
      permissionsGranted: ["booking.write"],
      sourceEvent: { id: "cron-1" },
      metadata: { attempt: "2" },
    };
    const turn = await turnOf(desk, await assembled(desk));
    const recorded = await desk.quire.ledger.recordTurn({ ...turn, details });
    expect(recorded.turn!.details).toEqual({
      ...ofTheAssembly,
      ...details,
      sourceEvent: { id: "cron-1", source: EventSource.UNSPECIFIED, platform: "" },
    });
  });

  test("is recorded with a warning where the receipt is gone, and the same call gets the same answer", async () => {
    const desk = await serveDesk();
    const turn = { ...(await turnOf(desk, lost)), requestId: "r1", details: { model: "gpt-4.1" } };
    const recorded = await desk.quire.ledger.recordTurn(turn);
    expect(recorded.warnings).toEqual([
      { kind: "WARNING_KIND_ASSEMBLY_UNKNOWN", detail: expect.stringContaining(lost) },
    ]);
    expect(recorded.turn).toMatchObject({ assemblyId: lost, details: { model: "gpt-4.1", toolset: "" } });
    expect(recorded.headTurnId).toBe(recorded.turn!.id);
    expect(await desk.quire.ledger.recordTurn(turn)).toEqual(recorded);
    const begun = await desk.quire.ledger.beginTurn(await turnOf(desk, lost));
    expect(begun.warnings).toEqual(recorded.warnings);
    expect(await assembled(desk)).not.toBe("");
  });

  test("is refused when the assembly is another session's, and nothing is written", async () => {
    const desk = await serveDesk();
    await desk.quire.ledger.createSession({ label: "other" });
    const assemblyId = await assembled(desk);
    const messages = [user("x")];
    const call = desk.quire.ledger.recordTurn({ session: "other", messages, assemblyId });
    expect(await failure(call)).toMatchObject({ reason: "INVALID_FIELD", fields: ["assembly_id"] });
    expect((await desk.quire.ledger.getSession({ session: "other" })).session!.depth).toBe(0);
  });
});
