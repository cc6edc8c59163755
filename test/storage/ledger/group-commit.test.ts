import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { OnHeadMoved } from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { TurnStatus } from "../../../src/contract/gen/quire/v1/turn.js";
import { getTurn } from "../../../src/ledger/read-turns.js";
import type { TurnRow } from "../../../src/storage/ledger/rows.js";
import { findImpossibleRows } from "../../model/check-tables.js";
import { recordedTurn } from "../../support/found-turn.js";
import { assistant, toolResults, user } from "../../support/messages.js";
import { startPostgres } from "../../support/postgres.js";
import { OpenLedger, refusal } from "./open-ledger.js";

const postgres = await startPostgres();
const folder = mkdtempSync(join(tmpdir(), "quire-test-"));
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const nowhere = "0198c0de-0000-7000-8000-000000000001";

const databases = [
  { name: "SQLite", url: `file:${join(folder, "quire.db")}` },
  { name: "PostgreSQL", url: postgres?.url ?? "" },
];

describe.each(databases)("a group commit on $name", ({ url }) => {
  let ledger: OpenLedger;
  beforeAll(async () => {
    if (url !== "") ledger = await OpenLedger.on(url);
  });
  beforeEach(() => ledger?.clear());
  afterAll(() => ledger?.close());
  const skip = url === "";

  it.skipIf(skip)("lands every good request, and leaves nothing of the bad ones among them", async () => {
    const sessions = await Promise.all(Array.from({ length: 12 }, () => ledger.create()));
    const heads = await Promise.all(sessions.map((session) => ledger.record({ session })));
    const before = await ledger.rowCounts();
    ledger.transactions = 0;

    const attempts = sessions.flatMap((session, index) => {
      const parentTurnId = heads[index]!.turn!.id;
      const requestId = `good-${index}`;
      return [
        ledger.record({ session, parentTurnId: "", requestId: `stale-${index}` }),
        ledger.record({ session, parentTurnId: nowhere, requestId: `lost-${index}` }),
        ledger.record({ session, parentTurnId, messages: [user("?"), toolResults("none")] }),
        ledger.record({ session: `nobody-${index}`, requestId: `nobody-${index}` }),
        ledger.append(nowhere, "to nobody"),
        ledger.record({ session, parentTurnId, requestId }),
        ledger.record({ session, parentTurnId, requestId }),
        ledger.record({ session, parentTurnId, requestId, messages: [user("another body")] }),
      ].map((attempt) => attempt.then(({ turn }) => turn!.id, refusal.bind(null, attempt)));
    });
    const outcomes = await Promise.all(attempts);

    for (let index = 0; index < sessions.length; index++) {
      const [stale, lost, orphan, nobody, unknown, good, twin, reused] = outcomes.slice(index * 8);
      expect([stale, lost, orphan, nobody, unknown, reused]).toEqual([
        "HEAD_MOVED",
        "UNKNOWN_PARENT",
        "ORPHAN_TOOL_RESULT",
        "SESSION_NOT_FOUND",
        "TURN_NOT_FOUND",
        "REQUEST_ID_REUSED",
      ]);
      expect(twin).toBe(good);
      expect(good).toMatch(/^[0-9a-f-]{36}$/);
    }
    const after = await ledger.rowCounts();
    const grown = Object.fromEntries(
      Object.entries(after).map(([table, count]) => [table, count - before[table]!]),
    );
    expect(grown).toEqual({
      sessions: 0,
      branches: 0,
      turns: 12,
      messages: 12,
      head_moves: 12,
      stored_answers: 12,
    });
    // 96 requests: two batches full, and what they put off.
    expect(ledger.transactions).toBeLessThanOrEqual(6);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
  });

  it.skipIf(skip)("that fails on one bad row is run job by job: the neighbours land", async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => ledger.create()));
    ledger.transactions = 0;
    const good = sessions.slice(1).map((session) => ledger.record({ session }));
    const bad = writeRow(ledger, sessions[0]!, (turn) => ({ ...turn, status: null as unknown as string }));

    expect(await refusal(bad)).toBe("INTERNAL");
    expect(await Promise.all(good)).toHaveLength(5);
    expect(ledger.transactions).toBe(1 + 6);
    expect(await ledger.count("turns")).toBe(5);
    expect(await ledger.count("branches")).toBe(5);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
  });

  it.skipIf(skip)("takes no place twice, though a write insists on it", async () => {
    const [first, second] = [await ledger.create(), await ledger.create()];
    const { turn } = await ledger.record({ session: first });
    const [placed] = await ledger.database.reader.turn.findMany({ where: { id: turn!.id } });
    const insisting = writeRow(ledger, second, (row) => ({ ...row, branchId: placed!.branchId, depth: 1 }));
    const neighbour = ledger.record({ session: first, parentTurnId: turn!.id });

    expect(await refusal(insisting)).toBe("INTERNAL");
    expect((await neighbour).turn!.depth).toBe(2);
    expect(await ledger.count("turns")).toBe(2);
  });

  it.skipIf(skip)("gives writes to one session the order in which they came", async () => {
    const session = await ledger.create();
    const { turn } = await ledger.begin({ session });
    const texts = Array.from({ length: 20 }, (_, index) => `step ${index}`);
    const steps = texts.map((text) => ledger.append(turn!.id, text));
    const end = ledger.complete(turn!.id);
    const late = ledger.append(turn!.id, "too late");

    expect((await Promise.all(steps)).map((step) => step.turn!.messageCount)).toEqual(
      texts.map((_, at) => at + 2),
    );
    expect((await end).turn!.messageCount).toBe(21);
    expect(await refusal(late)).toBe("TURN_NOT_OPEN");
    const { result } = recordedTurn(await getTurn(ledger.deps, "default", turn!.id));
    expect(result!.messages.slice(1).map((message) => textOf(message))).toEqual(texts);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
  });

  it.skipIf(skip)(
    "makes one head of many turns under one parent; the others branch or are refused",
    async () => {
      const session = await ledger.create();
      const { turn: parent } = await ledger.record({ session });
      const attempts = Array.from({ length: 10 }, (_, index) => {
        const onHeadMoved = index % 2 === 1 ? OnHeadMoved.BRANCH : OnHeadMoved.FAIL;
        return ledger.record({
          session,
          parentTurnId: parent!.id,
          onHeadMoved,
          messages: [user(`${index}`)],
        });
      });
      const settled = await Promise.allSettled(attempts);
      const branched = settled.map((one) => (one.status === "fulfilled" ? one.value.branched : "refused"));
      expect(branched).toEqual([
        false,
        true,
        "refused",
        true,
        "refused",
        true,
        "refused",
        true,
        "refused",
        true,
      ]);
      expect(await ledger.count("turns")).toBe(7);
      // The head's own branch goes on; each turn beside it opens one.
      expect(await ledger.count("branches")).toBe(6);
      expect(await findImpossibleRows(ledger.database)).toEqual([]);
    },
  );

  it.skipIf(skip)("gives each of several forks its own turn after the shared one", async () => {
    const { turn: shared } = await ledger.record({ session: await ledger.create() });
    const forks = await Promise.all(Array.from({ length: 5 }, () => ledger.fork(shared!.id)));
    const parentTurnId = shared!.id;
    const turns = await Promise.all(forks.map((session) => ledger.record({ session, parentTurnId })));
    expect(turns.map(({ branched, turn }) => [branched, turn!.depth])).toEqual(forks.map(() => [false, 2]));
    expect(await ledger.count("branches")).toBe(5);
    expect(await findImpossibleRows(ledger.database)).toEqual([]);
  });

  it.skipIf(skip)("writes one of two requests with one id, and answers both the same", async () => {
    const session = await ledger.create();
    const request = { session, requestId: "twice", messages: [user("once"), assistant("only")] };
    const [first, second] = await Promise.all([ledger.record(request), ledger.record(request)]);
    expect(second).toEqual(first);
    expect(await ledger.count("turns")).toBe(1);
    expect(await ledger.record(request)).toEqual(first);
  });

  it.skipIf(skip)("lets a request with the id of a refused one through", async () => {
    const session = await ledger.create();
    const { turn } = await ledger.record({ session });
    const stale = ledger.record({ session, requestId: "again", parentTurnId: "" });
    const good = ledger.record({ session, requestId: "again", parentTurnId: turn!.id });
    expect(await refusal(stale)).toBe("HEAD_MOVED");
    expect((await good).turn!.depth).toBe(2);
  });

  it.skipIf(skip)("writes nothing for callers who have gone", async () => {
    const sessions = await Promise.all(Array.from({ length: 4 }, () => ledger.create()));
    const gone = new AbortController();
    const writes = sessions.map((session, index) =>
      ledger.record({ session, requestId: `${index}` }, index % 2 === 0 ? gone.signal : undefined),
    );
    // They wait in the queue by now; the batch has not begun.
    await Promise.resolve();
    gone.abort();
    expect(await Promise.all(writes.map(refusal))).toEqual([
      "CANCELLED",
      "it was done",
      "CANCELLED",
      "it was done",
    ]);
    expect(await ledger.rowCounts()).toMatchObject({
      turns: 2,
      messages: 2,
      head_moves: 2,
      stored_answers: 2,
    });
  });

  it.skipIf(skip)("and writes to sessions at the same time do not lose each other", async () => {
    const session = await ledger.create();
    const tags = Array.from({ length: 8 }, (_, index) => `tag-${index}`);
    const { turn } = await ledger.begin({ session });
    await Promise.all([
      ...tags.map((tag) => ledger.update(session, { setMetadata: { [tag]: "set" } })),
      ...tags.map((tag) => ledger.append(turn!.id, tag)),
      ledger.record({ session, status: TurnStatus.FAILED }),
    ]);
    const ended = await ledger.complete(turn!.id);
    expect(ended.turn!.messageCount).toBe(9);
    const found = await ledger.deps.sessions.find("default", session);
    expect(Object.keys(JSON.parse(found!.row.metadataJson)).sort()).toEqual(tags);
    expect(found!.row.headTurnId).toBe(turn!.id);
  });

  it.skipIf(skip)("keeps numbers and bytes as they are", async () => {
    const usage = {
      inputTokens: 4_294_967_295,
      outputTokens: 2_147_483_648,
      cachedInputTokens: 0,
      cacheWriteTokens: 1,
      reasoningTokens: 4_000_000_000,
    };
    const result = {
      messages: [],
      calls: [],
      usage,
      stopReason: "end",
      error: "",
      permissionsUsed: ["read"],
      modelCalls: [],
    };
    const text = "\0 \u{10ffff} \ud83d\ude00 ? $1 'quoted' \\ \r\n";
    const { turn } = await ledger.record({ session: await ledger.create(), messages: [user(text)], result });
    const read = recordedTurn(await getTurn(ledger.deps, "default", turn!.id));
    expect({ ...read.turn, modelCalls: [] }).toEqual(turn);
    expect(read.turn!.usage).toEqual(usage);
    expect(read.turn!.modelCalls.map((call) => call.usage)).toEqual([usage]);
    expect(textOf(read.result!.messages[0]!)).toBe(text);
    expect(read.turn!.contentHash).toHaveLength(32);
  });
});

/** A write whose plan is not checked by any rule of the ledger. */
function writeRow(ledger: OpenLedger, session: string, change: (turn: TurnRow) => TurnRow): Promise<unknown> {
  const id = ledger.deps.ids.next();
  return ledger.deps.writer.write({
    key: {
      tenantId: "default",
      method: "RecordTurn",
      requestId: `bad-${id}`,
      requestHash: Buffer.alloc(32),
      encode: () => Buffer.alloc(0),
      decode: () => undefined,
    },
    createdUs: 1n,
    bytes: 1_000,
    target: { kind: "session", session, parentTurnId: "" },
    plan: (state) => ({
      turn: change(emptyTurn(id, state.session!.id)),
      branch: { tenantId: "default", id, parentBranchId: null, forkDepth: 0 },
      answer: undefined,
    }),
  });
}

function emptyTurn(id: string, sessionId: string): TurnRow {
  return {
    tenantId: "default",
    id,
    sessionId,
    parentTurnId: null,
    branchId: id,
    depth: 1,
    status: TurnStatus.COMPLETED,
    agentRole: "",
    model: "",
    provider: "",
    toolset: "",
    permissionsGrantedJson: "[]",
    permissionsUsedJson: "[]",
    sourceEventJson: null,
    workspacePath: "",
    metadataJson: "{}",
    inputTokens: null,
    outputTokens: null,
    cachedInputTokens: null,
    cacheWriteTokens: null,
    reasoningTokens: null,
    stopReason: "",
    error: "",
    messageCount: 0,
    o200kTokens: 0n,
    contextO200kTokens: 0n,
    openStateJson: "{}",
    abandonedItemsJson: "[]",
    contentHash: null,
    chainHash: null,
    createdUs: 1n,
    completedUs: null,
    assemblyId: null,
    modelCallCount: 0,
    threadTokens: 0n,
    threadContextTokens: 0n,
    threadMessages: 0n,
    interruptedByTurnId: null,
  };
}

function textOf(message: { readonly parts: readonly { readonly content?: unknown }[] }): string {
  return (message.parts[0]!.content as { readonly value: { readonly text: string } }).value.text;
}
