import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CreateSessionRequest,
  RecordTurnRequest,
  type RecordTurnResponse,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import type { TokenUsage } from "../../../src/contract/gen/quire/v1/turn.js";
import { assistant, user } from "../../support/messages.js";
import { call, startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";
import { capsuleBody, putCapsule, seedAgent } from "../support/seed-agent.js";

let server: TestServer;

const rules = "Answer in full sentences, and never promise a refund.\n".repeat(200);

beforeAll(async () => {
  server = await startTestServer();
  await seedAgent(server, "new", 0);
  await seedAgent(server, "plain", 1);
  await putCapsule(server, "cached", { persona: { ...capsuleBody.persona, corePrompt: rules } });
  const { ledger } = server;
  await call(ledger, ledger.createSession, CreateSessionRequest.fromPartial({ label: "cached" }));
  let head = await turn("", { inputTokens: 2_100 });
  head = await turn(head, { inputTokens: 2_150, cachedInputTokens: 2_048 });
  head = await turn(head, { inputTokens: 2_200, cachedInputTokens: 0 });
  await turn(head, {});
});

afterAll(() => server?.stop());

const at = () => ["--address", server.address] as const;
const assemble = (...args: readonly string[]) =>
  runCli("assemble", "cached", "--capsule", "cached", "--message", "hello", ...args, ...at());

/** Assembles, answers and records what the provider reported for it. */
async function turn(parentTurnId: string, usage: Partial<TokenUsage>): Promise<string> {
  const events = jsonLines<{ completed?: { assemblyId: string } }>((await assemble("--json")).out);
  const { ledger } = server;
  const request = RecordTurnRequest.fromPartial({
    session: "cached",
    parentTurnId,
    messages: [user("hello"), assistant("Good morning.")],
    assemblyId: events.at(-1)!.completed!.assemblyId,
    ...(usage.inputTokens ? { result: { usage } } : {}),
  });
  const answer = await call<RecordTurnRequest, RecordTurnResponse>(ledger, ledger.recordTurn, request);
  return answer.turn!.id;
}

describe("quire cache", () => {
  it("shows a line for each turn: a bar, what was reported beside what was predicted, and why it was missed", async () => {
    const { code, out } = await runCli("cache", "cached", ...at());
    expect(code).toBe(0);
    const [head, first, second, third, fourth] = out.split("\n");
    expect(head).toMatch(/^TURN +TIME +CACHE +INPUT +READ +PREDICTED +HIT +MISSED$/);
    expect(first).toMatch(/^…[0-9a-f]{8} +\d{4}-.* +░{2,} +2,100 +0 +0 +0 % +first context$/);
    expect(second).toMatch(/ █{10,}░+ +2,150 +2,048 +2,176 +95 %$/);
    expect(third).toMatch(/ ░{2,} +2,200 +0 +[\d,]+ +0 % +the provider read less than its rules allow$/);
    expect(fourth).toMatch(/ █{10,}░+ +- +- +2,\d+ +- +no usage was reported$/);
    expect(out.replace(/\s+/g, " ")).toMatch(
      /gpt-4o 3 turns: 2,048 of 6,450 input tokens read from the cache, 32 %; \d+ % were predicted/,
    );
  });

  it("takes how many turns to look at, and gives the report as JSON", async () => {
    const [report] = jsonLines<{ turns: readonly Record<string, unknown>[] }>(
      (await runCli("cache", "cached", "--turns", "2", "--json", ...at())).out,
    );
    expect(report!.turns.length).toBe(2);
    expect(report!.turns[0]).toMatchObject({ inputTokens: 2_200, predicted: { kind: "CACHE_KIND_PREFIX" } });
    expect(report).toMatchObject({ models: [{ model: "gpt-4o", turns: 1 }] });
  });

  it("says so when there are no turns, and names no prediction where the turn named no assembly", async () => {
    expect(await runCli("cache", "new", ...at())).toMatchObject({
      code: 0,
      err: "the session has no turns\n",
    });
    expect((await runCli("cache", "plain", ...at())).out).toMatch(/ - +- +- +- +no usage was reported$/m);
  });

  it("fails with 1 for a session that is not there, with 2 for wrong usage", async () => {
    const missing = await runCli("cache", "nobody", ...at());
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("SESSION_NOT_FOUND") });
    expect(await runCli("cache", "cached", "--turns", "0", ...at())).toMatchObject({ code: 2 });
    expect(await runCli("cache", "cached", "--turns", "1001", ...at())).toMatchObject({ code: 1 });
  });
});

describe("quire assemble and quire receipt", () => {
  it("say what will be read, written and fresh, what it costs, and how the prefix came about", async () => {
    const { out } = await assemble();
    expect(out).toMatch(/^cache +[\d,]+ tokens read, 0 written, \d+ fresh: \d\d % from the cache$/m);
    expect(out).toMatch(/^ {11}█+░+$/m);
    expect(out).toMatch(/^ +costs as 1,\d+ input tokens, instead of 2,\d+: \d\d %, \$0\.00\d\d$/m);
    expect(out).toMatch(/^prefix +goes on where the context before ended\n +context before: [0-9a-f-]{36}$/m);
    const id = /^receipt +(\S+)$/m.exec(out)![1]!;
    const receipt = await runCli("receipt", id, ...at());
    for (const label of ["cache", "prefix"]) {
      const entry = new RegExp(`^${label}  .*\\n( .*\\n)+`, "m");
      expect(entry.exec(receipt.out)![0]).toBe(entry.exec(out)![0]);
    }
  });

  it("say what rides in the current message when something changed, and where the cache may be kept", async () => {
    await putCapsule(server, "cached", {
      persona: { ...capsuleBody.persona, corePrompt: `${rules}\nBe kind.` },
    });
    const { out } = await assemble();
    expect(out).toMatch(/^prefix +pinned: the system prompt is that of an earlier context/m);
    expect(out).toMatch(/^ +update of persona: \d+ tokens in the current message$/m);
    const other = await assemble("--model", "claude-opus-5-5");
    expect(other.out).toMatch(/^ +kept up to system \(3,\d+\), message \d+ \(3,\d+\)$/m);
    expect(other.out).toMatch(/^ +not read: first context$/m);
    expect(other.out).toMatch(/^prefix +the first one of the session for this model and role$/m);
  });
});
