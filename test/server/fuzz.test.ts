import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TurnScope } from "../../src/contract/gen/quire/v1/ledger_service.js";
import { allTurns, type LedgerCalls, ledgerCalls } from "../ledger/ledger-calls.js";
import { recordedTurn } from "../support/found-turn.js";
import { user } from "../support/messages.js";
import { type ChildServer, startChildServer } from "./child-server.js";
import { fuzzRequest, giantRequests, kinds, methods, Random } from "./fuzz-requests.js";
import { halfWritten, runFuzz, send } from "./fuzz-run.js";

const seed = 20261116;
const count = 2_200;
const megabyte = 1024 * 1024;

let child: ChildServer;
let ledger: LedgerCalls;

beforeAll(async () => {
  child = await startChildServer({ flags: { historyCacheBytes: 4 * megabyte } });
  ledger = ledgerCalls(child.ledger);
});

afterAll(() => child.stop());

test("fuzz: every kind of malformation meets every method", () => {
  const scene = { session: "s", headTurnId: "t", openTurnId: "o", planToken: "p" };
  const met = new Set<string>();
  for (let index = 0; index < methods.length * kinds.length; index++) {
    const { method, kind } = fuzzRequest(new Random(index), scene, index);
    met.add(`${method} ${kind}`);
  }
  expect(met.size).toBe(methods.length * kinds.length);
});

test("fuzz: 2,200 malformed requests end with a clean status each, the server stays up and its memory returns", async () => {
  await runFuzz(child, seed, 200);
  const before = await child.memory();
  const { codes, unclean } = await runFuzz(child, seed + 1, count);
  expect(unclean).toEqual([]);
  // Most are refused, and some do no harm: both ways are met.
  expect(codes.INVALID_ARGUMENT).toBeGreaterThan(1_000);
  expect(codes.OK).toBeGreaterThan(100);
  expect(Object.values(codes).reduce((sum, count) => sum + count, 0)).toBe(count);

  const after = await child.memory();
  expect((after.heapUsed + after.external - before.heapUsed - before.external) / megabyte).toBeLessThan(20);
  expect(child.isUp()).toBe(true);
  const { id } = await ledger.session();
  expect((await ledger.turn(id, "", [user("still served")])).depth).toBe(1);
});

test("fuzz: requests of millions of elements are refused before they fill the memory", async () => {
  const before = await child.memory();
  for (const request of giantRequests(30 * megabyte)) {
    const ended = {};
    expect(await send(child.ledger, request, ended), request.kind).toBeUndefined();
    expect(ended, request.kind).toEqual({ INVALID_ARGUMENT: 1 });
  }
  const after = await child.memory();
  expect((after.heapUsed + after.external - before.heapUsed - before.external) / megabyte).toBeLessThan(20);
});

test("fuzz: nothing was written in part", async () => {
  expect(halfWritten(join(child.folder, "quire.db"))).toEqual([]);
  for (let pageToken = ""; ; ) {
    const page = await ledger.listSessions({ pageSize: 1_000, pageToken });
    for (const session of page.sessions) {
      const turns = await allTurns(ledger, { session: session.id });
      const { messages, thread } = await ledger.history({ thread: { $case: "session", value: session.id } });
      expect(messages).toHaveLength(turns.reduce((sum, turn) => sum + turn.messageCount, 0));
      expect([thread.depth, turns.length]).toEqual([session.depth, session.depth]);
    }
    const [some] = page.sessions;
    for (const turn of some ? await allTurns(ledger, { session: some.id, scope: TurnScope.WRITTEN }) : []) {
      const { result } = recordedTurn(await ledger.getTurn({ turnId: turn.id }));
      expect(result!.messages).toHaveLength(turn.messageCount);
    }
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
  }
});
