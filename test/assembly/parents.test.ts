import { afterAll, describe, expect, it } from "vitest";
import { OnHeadMoved } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { type AgentResult, TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import type { Quire } from "../../src/index.js";
import { assistant, toolCalls, toolResults, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";
import { bothDatabases, type TestedDatabase } from "./both-databases.js";
import { deskRequest, putCapsule, setUpTravelDesk } from "./travel-desk.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const append = { onHeadMoved: OnHeadMoved.APPEND };
const says = (text: string) => ({ session: "desk", messages: [user(text), assistant(`${text} Yes.`)] });

async function openDesk(open: TestedDatabase["open"]) {
  const { quire } = await open();
  await setUpTravelDesk(quire);
  await putCapsule(quire, "atlas");
  const assemble = async (more = {}) =>
    (await quire.assembly.buildContext({ context: { ...deskRequest, capsule: "atlas", ...more } })).context!;
  return { quire, assemble };
}

const head = async (quire: Quire) => (await quire.ledger.getSession({ session: "desk" })).session!.headTurnId;

/** The assembly that the next context goes on from. */
async function previous(
  assemble: () => Promise<{ readonly prefix?: { readonly previousAssemblyId: string } | undefined }>,
) {
  return (await assemble()).prefix?.previousAssemblyId;
}

describe.each(bothDatabases(postgres))("a turn's parent, on $name", ({ isMissing, open }) => {
  const test = it.skipIf(isMissing);

  test("is the head where neither a parent nor an assembly is named", async () => {
    const { quire } = await openDesk(open);
    const begins = await head(quire);
    const first = await quire.ledger.recordTurn(says("One?"));
    const second = await quire.ledger.recordTurn(says("Two?"));
    expect(first.turn!.parentTurnId).toBe(begins);
    expect(second).toMatchObject({ branched: false, headTurnId: second.turn!.id, warnings: [] });
    expect(second.turn!.parentTurnId).toBe(first.turn!.id);
    const { turn } = await quire.ledger.beginTurn({ session: "desk" });
    expect(turn!.parentTurnId).toBe(second.turn!.id);
    const refused = quire.ledger.recordTurn({ ...says("The first?"), parentTurnId: "" });
    await expect(refused).rejects.toMatchObject({ reason: "HEAD_MOVED" });
  });

  test("is the assembly's where a turn names one: it is refused or branches if the head has moved", async () => {
    const { quire, assemble } = await openDesk(open);
    const { assemblyId, parentTurnId } = await assemble();
    const answered = await quire.ledger.recordTurn({ ...says("One?"), assemblyId });
    expect(answered.turn!.parentTurnId).toBe(parentTurnId);
    expect(await previous(assemble)).toBe(assemblyId);
    const late = { ...says("Two?"), assemblyId };
    await expect(quire.ledger.recordTurn(late)).rejects.toMatchObject({ reason: "HEAD_MOVED" });
    const branched = await quire.ledger.recordTurn({ ...late, onHeadMoved: OnHeadMoved.BRANCH });
    expect(branched).toMatchObject({ branched: true, warnings: [], turn: { parentTurnId } });
    expect(await head(quire)).toBe(answered.turn!.id);
  });

  test("that is not the assembly's leaves no pin, and a warning says so", async () => {
    const { quire, assemble } = await openDesk(open);
    const first = await assemble();
    await quire.ledger.recordTurn({ ...says("One?"), assemblyId: first.assemblyId });
    const second = await assemble();
    const between = await quire.ledger.recordTurn(says("Between?"));
    const warned = [
      { kind: "WARNING_KIND_PARENT_DIFFERS", detail: expect.stringContaining(between.turn!.id) },
    ];
    const appended = await quire.ledger.recordTurn({
      ...says("Two?"),
      assemblyId: second.assemblyId,
      ...append,
    });
    expect(appended).toMatchObject({ branched: false, warnings: warned });
    expect(appended.turn).toMatchObject({ parentTurnId: between.turn!.id, assemblyId: second.assemblyId });
    expect(await previous(assemble)).toBe(first.assemblyId);
    const named = { ...says("Three?"), assemblyId: second.assemblyId, parentTurnId: appended.turn!.id };
    expect((await quire.ledger.recordTurn(named)).warnings).toHaveLength(1);
    expect(await previous(assemble)).toBe(first.assemblyId);
    const nobody = { ...says("Four?"), assemblyId: "0198c0de-0000-7000-8000-000000000001" };
    const unknown = await quire.ledger.recordTurn(nobody);
    expect(unknown.warnings).toMatchObject([{ kind: "WARNING_KIND_ASSEMBLY_UNKNOWN" }]);
    expect(await head(quire)).toBe(unknown.turn!.id);
  });

  test("that awaits answers is appended to by its answers, or if they are given up", async () => {
    const { quire } = await openDesk(open);
    const waits = {
      session: "desk",
      messages: [user("Look."), toolCalls("c1")],
      status: TurnStatus.AWAITING,
    };
    await quire.ledger.recordTurn({ ...waits, ...append });
    const words = { ...says("Never mind."), ...append };
    await expect(quire.ledger.recordTurn(words)).rejects.toMatchObject({ reason: "UNANSWERED_CALLS" });
    const answers = { session: "desk", messages: [toolResults("c1"), assistant("Found.")], ...append };
    await quire.ledger.recordTurn(answers);
    await quire.ledger.recordTurn({ ...waits, messages: [user("Again."), toolCalls("c2")], ...append });
    const { turn } = await quire.ledger.recordTurn({ ...words, abandonOpenItems: true });
    expect(turn!.abandonedItems).toMatchObject([{ id: "c2" }]);
  });

  test("is the head at the end of an open turn that is appended, if it may stand there", async () => {
    const { quire, assemble } = await openDesk(open);
    const { assemblyId } = await assemble();
    const result = { messages: [assistant("Done.")] } satisfies Partial<AgentResult>;
    const begin = async (more = {}) => (await quire.ledger.beginTurn({ session: "desk", ...more })).turn!.id;
    const pinned = await begin({ messages: [user("Slow?")], assemblyId });
    const fast = await quire.ledger.recordTurn({ ...says("Fast?"), ...append });
    await expect(quire.ledger.completeTurn({ turnId: pinned, result })).rejects.toMatchObject({
      reason: "HEAD_MOVED",
    });
    const done = await quire.ledger.completeTurn({ turnId: pinned, result, assemblyId, ...append });
    expect(done).toMatchObject({ branched: false, turn: { parentTurnId: fast.turn!.id } });
    expect(done.warnings).toMatchObject([{ kind: "WARNING_KIND_PARENT_DIFFERS" }]);
    expect(await previous(assemble)).not.toBe(assemblyId);
    const slow = await begin({ messages: [user("Slow?")] });
    const waits = {
      session: "desk",
      messages: [user("Look."), toolCalls("c1")],
      status: TurnStatus.AWAITING,
    };
    await quire.ledger.recordTurn(waits);
    const ofAwaiting = quire.ledger.completeTurn({ turnId: slow, result, ...append });
    await expect(ofAwaiting).rejects.toMatchObject({
      reason: "HEAD_MOVED",
      violations: [{ field: "turn_id" }],
    });
    const answering = await begin({ messages: [toolResults("c1")] });
    await quire.ledger.recordTurn({ ...says("Never mind."), abandonOpenItems: true });
    const tooLate = quire.ledger.completeTurn({ turnId: answering, result, ...append });
    await expect(tooLate).rejects.toMatchObject({ reason: "HEAD_MOVED", violations: [{ field: "turn_id" }] });
    await quire.ledger.completeTurn({ turnId: slow, result, ...append });
    expect(await head(quire)).toBe(slow);
    const texts = (await quire.assembly.buildContext({ context: { ...deskRequest, capsule: "atlas" } }))
      .context!;
    expect(texts.history.at(-1)!.turnId).toBe(slow);
  });
});
