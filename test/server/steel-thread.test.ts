import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Turn } from "../../src/contract/gen/quire/v1/turn.js";
import { allTurns, type HistoryRequest } from "../ledger/ledger-calls.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";
import { sharedLedger } from "../support/shared-ledger.js";
import { bytesByTurn, rawBatches } from "./raw-history.js";
import { Transcript } from "./transcript.js";

const { server, ledger } = await sharedLedger();

const sha256 = (...chunks: readonly Buffer[]) => createHash("sha256").update(Buffer.concat(chunks)).digest();

/** What any client can check: stored bytes hash to the content hash, and each chain hash covers the one before. */
async function verify(
  session: string,
): Promise<{ readonly turns: readonly Turn[]; readonly bytes: Map<string, Buffer> }> {
  const turns = (await allTurns(ledger, { session })).reverse();
  const bytes = bytesByTurn(
    await rawBatches(server.ledger, { thread: { $case: "session", value: session } }),
  );
  expect([...bytes.keys()]).toEqual(turns.map((turn) => turn.id));
  let chain: Buffer = Buffer.alloc(0);
  for (const [index, turn] of turns.entries()) {
    expect(turn.parentTurnId).toBe(turns[index - 1]?.id ?? "");
    expect(turn.depth).toBe(index + 1);
    expect(sha256(bytes.get(turn.id)!)).toEqual(turn.contentHash);
    chain = sha256(chain, turn.contentHash);
    expect(turn.chainHash).toEqual(chain);
  }
  return { turns, bytes };
}

test("steel thread: a session, a turn with a call, a fork, both extended, both histories as recorded", async () => {
  const transcript = new Transcript();
  const step = async <Request, Answer>(
    name: string,
    call: (request: Request) => Promise<Answer>,
    request: Request,
  ) => {
    const answer = await call(request);
    transcript.add(name, request, answer);
    return answer;
  };

  const readThread = async (request: HistoryRequest) => {
    const { thread, messages } = await ledger.history(request);
    return { thread, messages };
  };

  await step("CreateSession", ledger.createSession, { label: "weather", metadata: { team: "blue" } });
  const details = { model: "claude-sonnet-5-5", provider: "anthropic", permissionsGranted: ["net"] };
  const first = await step("RecordTurn", ledger.recordTurn, {
    requestId: "r-1",
    session: "weather",
    details,
    messages: [system("Be brief."), user("Will it rain in Oslo?")],
    result: {
      messages: [toolCalls("call_1"), toolResults("call_1"), assistant("Yes, in the evening.")],
      usage: { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100 },
      stopReason: "end_turn",
      permissionsUsed: ["net"],
    },
  });
  const shared = first.turn!.id;
  await step("GetTurn", ledger.getTurn, { turnId: shared });
  await step("ForkSession", ledger.forkSession, {
    session: "weather",
    label: "weather, in French",
  });
  await step("RecordTurn", ledger.recordTurn, {
    session: "weather",
    parentTurnId: shared,
    messages: [user("And tomorrow?"), assistant("Sun.")],
  });
  await step("RecordTurn", ledger.recordTurn, {
    session: "weather, in French",
    parentTurnId: shared,
    messages: [user("En français, s'il te plaît."), assistant("Oui, ce soir.")],
  });
  for (const value of ["weather", "weather, in French"]) {
    await step("ListTurns", ledger.listTurns, { session: value });
    await step("StreamHistory", readThread, { thread: { $case: "session" as const, value } });
  }
  await expect(transcript.toString()).toMatchFileSnapshot("../golden/steel-thread.golden.json");

  const one = await verify("weather");
  const other = await verify("weather, in French");
  expect(one.turns[0]).toEqual(other.turns[0]);
  expect(one.bytes.get(shared)).toEqual(other.bytes.get(shared));
  expect(one.turns[1]!.chainHash).not.toEqual(other.turns[1]!.chainHash);
});

test("steel thread: the same thread gives the same bytes, by session, by alias, by turn, and when it is read again", async () => {
  const session = await ledger.session({ label: "same bytes" });
  let head = "";
  for (let index = 0; index < 5; index++) {
    head = (await ledger.turn("same bytes", head, [user(`question ${index}`), assistant(`answer ${index}`)]))
      .id;
  }
  await ledger.aliasSession({ alias: "same bytes, too", session: "same bytes" });
  const cold = await rawBatches(server.ledger, { thread: { $case: "session", value: "same bytes" } });
  for (const thread of [
    { $case: "session" as const, value: "same bytes" },
    { $case: "session" as const, value: session.id },
    { $case: "session" as const, value: "same bytes, too" },
    { $case: "turnId" as const, value: head },
  ]) {
    expect(await rawBatches(server.ledger, { thread })).toEqual(cold);
  }
});
