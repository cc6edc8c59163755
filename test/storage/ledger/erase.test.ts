import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { OnHeadMoved } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { findImpossibleRows } from "../../model/check-tables.js";
import { eraseFrom, type Forest, type TreeSession, type TreeTurn } from "../../model/reachability.js";
import { startPostgres } from "../../support/postgres.js";
import { type OpenLedger, openLedger, sqliteUrl } from "./open-ledger.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

/** One step in growing or cutting trees of turns; the numbers choose among what is there. */
type Step =
  | { readonly do: "create" }
  | { readonly do: "extend" | "begin" | "fail" | "complete" | "delete"; readonly session: number }
  | { readonly do: "branch" | "beginAt" | "move" | "fork"; readonly session: number; readonly turn: number };

const index = fc.nat({ max: 1_000 });
const ofSession = (kind: "extend" | "begin" | "fail" | "complete" | "delete") =>
  fc.record({ do: fc.constant(kind), session: index });
const atTurn = (kind: "branch" | "beginAt" | "move" | "fork") =>
  fc.record({ do: fc.constant(kind), session: index, turn: index });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ do: "create" as const }) },
  { weight: 6, arbitrary: ofSession("extend") },
  { weight: 1, arbitrary: ofSession("begin") },
  { weight: 1, arbitrary: ofSession("fail") },
  { weight: 1, arbitrary: ofSession("complete") },
  { weight: 2, arbitrary: ofSession("delete") },
  { weight: 3, arbitrary: atTurn("branch") },
  { weight: 1, arbitrary: atTurn("beginAt") },
  { weight: 2, arbitrary: atTurn("move") },
  { weight: 3, arbitrary: atTurn("fork") },
);

/** The same steps on the ledger and on a plain map of turns. */
class Grown implements Forest {
  readonly turns = new Map<string, TreeTurn>();
  readonly sessions = new Map<string, TreeSession>();
  private readonly open = new Set<string>();

  constructor(private readonly ledger: OpenLedger) {}

  async take(step: Step): Promise<void> {
    if (step.do === "create" || this.sessions.size === 0) {
      const id = await this.ledger.create();
      this.sessions.set(id, { id, head: "", visited: [] });
      return;
    }
    const session = at([...this.sessions.values()], step.session);
    const finished = [...this.turns.values()].filter((turn) => turn.finished).map((turn) => turn.id);
    if ("turn" in step && finished.length === 0) return;
    const turnId = "turn" in step ? at(finished, step.turn) : session.head;
    switch (step.do) {
      case "extend":
      case "branch":
      case "fail": {
        const status = step.do === "fail" ? TurnStatus.FAILED : TurnStatus.COMPLETED;
        const onHeadMoved = OnHeadMoved.BRANCH;
        const written = await this.ledger.record({
          session: session.id,
          parentTurnId: turnId,
          status,
          onHeadMoved,
        });
        this.grow(written.turn!.id, session.id, turnId, status !== TurnStatus.FAILED, written.headTurnId);
        return;
      }
      case "begin":
      case "beginAt": {
        const request = { session: session.id, parentTurnId: turnId, onHeadMoved: OnHeadMoved.BRANCH };
        const { turn } = await this.ledger.begin(request);
        this.open.add(turn!.id);
        this.grow(turn!.id, session.id, turnId, false, session.head);
        return;
      }
      case "complete": {
        const open = [...this.open].filter((id) => this.turns.has(id));
        if (open.length === 0) return;
        const id = at(open, step.session);
        const { turn, headTurnId } = await this.ledger.complete(id, { onHeadMoved: OnHeadMoved.BRANCH });
        this.open.delete(id);
        this.grow(id, turn!.sessionId, turn!.parentTurnId, true, headTurnId);
        return;
      }
      case "move":
        await this.ledger.update(session.id, { headTurnId: turnId, expectedHeadTurnId: session.head });
        this.setHead(session.id, turnId);
        return;
      case "fork": {
        const id = await this.ledger.fork(turnId);
        this.sessions.set(id, { id, head: turnId, visited: [turnId] });
        return;
      }
      case "delete":
        return this.erase(session.id);
    }
  }

  /** Deletes a session and compares what was erased with what should have been, turn by turn. */
  async erase(sessionId: string): Promise<void> {
    const { erased, keptOfThread } = eraseFrom(this, sessionId);
    const answer = await this.ledger.delete(sessionId);
    expect(answer).toEqual({
      sessionId,
      erasedTurns: erased.size,
      keptTurns: keptOfThread,
      erasedSubAgentIds: [],
    });
    this.sessions.delete(sessionId);
    for (const id of erased) this.turns.delete(id);
    const left = await this.ledger.database.sqlReader.query("SELECT id FROM turns ORDER BY id", []);
    expect(left.map(([id]) => id)).toEqual([...this.turns.keys()].sort());
  }

  private grow(id: string, sessionId: string, parent: string, finished: boolean, head: string): void {
    this.turns.set(id, { id, sessionId, parent, finished });
    if (this.sessions.get(sessionId)!.head !== head) this.setHead(sessionId, head);
  }

  private setHead(sessionId: string, head: string): void {
    const session = this.sessions.get(sessionId)!;
    this.sessions.set(sessionId, { ...session, head, visited: [...session.visited, head] });
  }
}

function at<T>(items: readonly T[], index: number): T {
  return items[index % items.length]!;
}

async function checkErasures(ledger: OpenLedger, numRuns: number): Promise<void> {
  const property = fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
    await ledger.clear();
    const grown = new Grown(ledger);
    for (const one of steps) await grown.take(one);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
    for (const id of [...grown.sessions.keys()]) await grown.erase(id);
    const { stored_answers, ...left } = await ledger.rowCounts();
    expect(left).toEqual({ sessions: 0, branches: 0, turns: 0, messages: 0, head_moves: 0 });
    expect(stored_answers).toBe(0);
  });
  await fc.assert(property, { seed: 20_261_101, numRuns });
}

describe("an erasure removes what no other session reaches, and nothing else", () => {
  it("on SQLite, over random trees of forks, branches and moves", async () => {
    await checkErasures(await openLedger(sqliteUrl()), 20);
  });

  it.skipIf(postgres === undefined)("on PostgreSQL", async () => {
    await checkErasures(await openLedger(await postgres!.createDatabase()), 5);
  });

  it("keeps the parent of another session's open turn, so that it can be completed", async () => {
    const ledger = await openLedger(sqliteUrl());
    const [first, second] = [await ledger.create(), await ledger.create()];
    const { turn: parent } = await ledger.record({ session: first });
    const onHeadMoved = OnHeadMoved.BRANCH;
    const { turn } = await ledger.begin({ session: second, parentTurnId: parent!.id, onHeadMoved });
    expect(await ledger.delete(first)).toMatchObject({ erasedTurns: 0, keptTurns: 1 });
    const ended = await ledger.complete(turn!.id, { onHeadMoved });
    expect(ended.turn).toMatchObject({ parentTurnId: parent!.id, depth: 2 });
    expect(await ledger.delete(second)).toMatchObject({ erasedTurns: 2 });
  });

  it("forgets the answers that hold what the session said", async () => {
    const ledger = await openLedger(sqliteUrl());
    const session = await ledger.create({ requestId: "made" });
    await ledger.record({ session, requestId: "said" });
    await ledger.delete(session);
    expect(await ledger.count("stored_answers")).toBe(0);
  });

  it("keeps of a long thread what another session's open turn hangs off, and erases the rest of it", async () => {
    const ledger = await openLedger(sqliteUrl());
    const [first, second, third] = [await ledger.create(), await ledger.create(), await ledger.create()];
    const ids: string[] = [];
    for (let depth = 1; depth <= 1_200; depth++)
      ids.push((await ledger.record({ session: first, parentTurnId: ids.at(-1) ?? "" })).turn!.id);
    const onHeadMoved = OnHeadMoved.BRANCH;
    await ledger.begin({ session: second, parentTurnId: ids[599]!, onHeadMoved });
    await ledger.record({ session: third, parentTurnId: ids[99]!, onHeadMoved });
    expect(await ledger.delete(first)).toMatchObject({ erasedTurns: 600, keptTurns: 600 });
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
    expect(await ledger.delete(second)).toMatchObject({ erasedTurns: 501, keptTurns: 0 });
    expect(await ledger.delete(third)).toMatchObject({ erasedTurns: 101 });
    expect(await ledger.count("turns")).toBe(0);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
  });
});
