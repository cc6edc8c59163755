import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  RecordTurnRequest,
  type RecordTurnResponse,
} from "../../../src/contract/gen/quire/v1/ledger_service.js";
import { MessageRole } from "../../../src/contract/gen/quire/v1/message.js";
import { toolCalls, user } from "../../support/messages.js";
import { call, startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli, spawnCli } from "../support/run-cli.js";
import { capsuleBody, putCapsule, seedAgent } from "../support/seed-agent.js";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
  await seedAgent(server, "short", 2);
  await seedAgent(server, "long", 40, {
    ...capsuleBody,
    settings: { compressionStrategy: "COMPRESSION_STRATEGY_WINDOW" },
  });
});

afterAll(() => server?.stop());

const at = () => ["--address", server.address] as const;
const assemble = (session: string, ...args: readonly string[]) =>
  runCli("assemble", session, "--capsule", session, ...args, ...at());

type AssembleEvent = Readonly<Record<string, Record<string, unknown>>>;

describe("quire assemble", () => {
  it("prints the layers in order, then the budget by lane and the receipt", async () => {
    const { code, out, err } = await assemble("short", "--message", "hello");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const labels = [...out.matchAll(/^(\w+) {2,}/gm)].map(([, label]) => label);
    expect(labels).toEqual([
      ...["resolved", "tools", "system", "history", "current", "completed"],
      ...["budget", "layers", "cache", "prefix", "receipt"],
    ]);
    expect(out).toMatch(/^ +capsule short, version 1, as unified$/m);
    expect(out).toMatch(/^history +\d+ tokens, 2 turns, no turn left out$/m);
    expect(out).toMatch(/^ +8 messages sent: 2 user, 4 assistant, 2 tool$/m);
    for (const lane of ["system", "history", "memory", "tools", "buffer", "all", "free"]) {
      expect(out).toMatch(new RegExp(`^ {11}${lane} .* [\\d,]+ / +[\\d,]+ +\\d+ %$`, "m"));
    }
    expect(out).toMatch(/^layers +workspace 0, persona \d+, session \d+, memory 0, event \d+$/m);
    expect(out).toMatch(/^receipt +[0-9a-f-]{36}$/m);
    expect(out).not.toContain("\u001b");
    for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("draws the lanes on one scale, which is what is available", async () => {
    const { out } = await assemble("short", "--message", "hello", "--max-tokens", "400", "--dry-run");
    const cells = (name: string) => {
      const bar = new RegExp(`^ {11}${name} +([^\\d]*?) +[\\d,]+ /`, "m").exec(out)?.[1] ?? "";
      return bar.length;
    };
    // gpt-4o at intelligence 5: memory has .25 and history .30 of what is available.
    const whole = cells("memory") * 4;
    expect(Math.abs(cells("history") / whole - 0.3)).toBeLessThan(0.05);
    expect(Math.abs((cells("all") + cells("free")) / whole - 1)).toBeLessThan(0.08);
  });

  it("says what was left out, and what gave way", async () => {
    const { out } = await assemble("long", "--message", "hello", "--max-tokens", "300");
    expect(out).toMatch(/^history +\d+ tokens, \d+ turns?, \d+ older turns left out$/m);
    const tight = await assemble("long", "--message", "hello", "--max-tokens", "150");
    expect(tight.out).toMatch(/^gave way +\S/m);
  });

  it("names the tool results that were elided, and so does the receipt", async () => {
    await seedAgent(server, "loop", 0);
    const ids = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const { ledger } = server;
    const parts = ids.map((callId) => ({
      content: {
        $case: "toolResult" as const,
        value: {
          callId,
          content: [{ content: { $case: "text" as const, value: { text: "word ".repeat(500) } } }],
        },
      },
    }));
    const messages = [user("all?"), toolCalls(...ids), { role: MessageRole.TOOL, parts }];
    const { turn } = await call<RecordTurnRequest, RecordTurnResponse>(
      ledger,
      ledger.recordTurn,
      RecordTurnRequest.fromPartial({ session: "loop", messages }),
    );
    const { out } = await assemble("loop", "--message", "hello", "--max-tokens", "450");
    const shown = /^history .*\n( {11}.*\n)+/m.exec(out)![0];
    const words = shown.replaceAll(/\s+/g, " ");
    expect(words).toContain("12 parts shortened");
    expect(words).toContain(`tool result of c0: 501 -> 12 tokens (turn ${turn!.id}, message 2, part 0)`);
    expect(words).toContain("and 2 more");
    const receipt = await runCli("receipt", /^receipt +(\S+)$/m.exec(out)![1]!, ...at());
    expect(receipt.out).toContain(shown.slice(0, shown.indexOf("and 2 more")));
  });

  it("takes the message from stdin, without the line end", async () => {
    const cli = spawnCli("assemble", "short", "--capsule", "short", "--json", ...at());
    cli.child.stdin.end("from a pipe\n");
    const { code, out } = await cli.done;
    expect(code).toBe(0);
    const current = jsonLines<AssembleEvent>(out).find((event) => "currentMessage" in event);
    expect(current!.currentMessage!.message).toMatchObject({ parts: [{ text: { text: "from a pipe" } }] });
  });

  it("gives one JSON line for each event with --json", async () => {
    const { out } = await assemble("short", "--message", "hello", "--json");
    const events = jsonLines<AssembleEvent>(out);
    const kinds = events.map((event) => Object.keys(event).join());
    expect(kinds).toEqual(["resolved", "tools", "system", "history", "currentMessage", "completed"]);
    expect(events.at(-1)!.completed).toMatchObject({ assemblyId: events[0]!.resolved!.assemblyId });
  });

  it("shows the content of the layers that it is asked for", async () => {
    const flags = ["--message", "hello", "--dry-run"] as const;
    const bare = await assemble("short", ...flags);
    expect(bare.out).not.toContain("You are a helper.");
    expect(bare.out).toContain("receipt    none: this was a dry run");
    const shown = await assemble("short", ...flags, "--show", "system,history,current");
    expect(shown.out).toContain("You are a helper.");
    expect(shown.out).toContain('-> search({"q": "c2"}) [c2]');
    expect(shown.out).toContain("Current time: ");
  });

  it("hands on role, model, policy and replay", async () => {
    const worker = ["--role", "worker", "--task", "Count the stars."];
    const flags = ["--message", "hello", ...worker, "--model", "gemini-3.8-flash", "--clean"];
    const { out } = await assemble("short", ...flags);
    expect(out).toMatch(/^ +capsule short, version 1, as worker$/m);
    expect(out).toMatch(/gemini-3\.8-flash of/);
    expect(out).toContain("tokens are o200k counts × 1.1, ± 15 %");
    const failed = await assemble(
      "long",
      "--message",
      "x ".repeat(500),
      "--policy",
      "fail",
      "--max-tokens",
      "500",
    );
    expect(failed).toMatchObject({ code: 1, err: expect.stringContaining("reason: LANE_EXCEEDED") });
  });

  it("fails with 1 and the reason for what is not there, and with 2 for wrong usage", async () => {
    const message = ["--message", "hello"] as const;
    const missing = await runCli("assemble", "nobody", "--capsule", "short", ...message, ...at());
    expect(missing).toMatchObject({ code: 1, out: "", err: expect.stringContaining("SESSION_NOT_FOUND") });
    const noCapsule = await runCli("assemble", "short", "--capsule", "none", ...message, ...at(), "--json");
    const [line] = jsonLines<{ error: { reason: string } }>(noCapsule.err);
    expect(line!.error.reason).toBe("CAPSULE_NOT_FOUND");
    const unnamed = await runCli("assemble", "short", ...message, ...at());
    expect(unnamed).toMatchObject({ code: 1, err: expect.stringContaining("context.capsule: is required") });
    expect(await assemble("short", ...message, "--role", "boss")).toMatchObject({ code: 2 });
    expect(await assemble("short", ...message, "--policy", "loose")).toMatchObject({ code: 2 });
    expect(await assemble("short", ...message, "--show", "system,all")).toMatchObject({ code: 2 });
    expect(await assemble("short", ...message, "--max-tokens", "0")).toMatchObject({ code: 2 });
    const silent = await assemble("short", "--message", "");
    expect(silent).toMatchObject({ code: 2, err: expect.stringContaining("there is no message to answer") });
  });
});

describe("quire receipt", () => {
  const receiptOf = (out: string) => /^receipt +(\S+)$/m.exec(out)![1]!;

  it("lists the candidates, the inputs and the hashes", async () => {
    const id = receiptOf((await assemble("long", "--message", "hello", "--max-tokens", "300")).out);
    const { code, out } = await runCli("receipt", id, ...at());
    expect(code).toBe(0);
    expect(out).toMatch(/^CANDIDATE +LANE +TOKENS +KEPT +RULE$/m);
    expect(out).toMatch(/^section persona +system +\d+ +kept +never cut$/m);
    expect(out).toMatch(/^turns 1-\d+ +history +\d+ +cut +window/m);
    expect(out).toMatch(/^capsule +long +1 +[0-9a-f]{16}$/m);
    expect(out).toMatch(/^whole +[\d,]+ +[0-9a-f]{16}$/m);
    const [json] = jsonLines((await runCli("receipt", id, "--json", ...at())).out);
    expect(json).toMatchObject({ assemblyId: id, model: "gpt-4o" });
  });

  it("says in words where two contexts differ, the older one first", async () => {
    const first = receiptOf((await assemble("short", "--message", "one")).out);
    const second = receiptOf((await assemble("short", "--message", "another")).out);
    for (const pair of [
      [first, "--against", second],
      [second, "--against", first],
    ]) {
      const { out } = await runCli("receipt", ...pair, ...at());
      expect(out).toMatch(new RegExp(`^earlier +${first}$`, "m"));
      expect(out).toMatch(/^extends +all but the current message is the same$/m);
      expect(out).toMatch(/^same +the first [\d,]+ of [\d,]+ bytes, \d+ %: what a prompt cache keeps$/m);
      expect(out).toMatch(/^then +the current message$/m);
    }
    const same = await runCli("receipt", first, "--against", first, ...at());
    expect(same.out).toMatch(/^equal +byte for byte/m);
    const [json] = jsonLines((await runCli("receipt", first, "--against", second, "--json", ...at())).out);
    expect(json).toMatchObject({ extends: true, layer: "CONTEXT_LAYER_CURRENT" });
  });

  it("names the section and the input that changed", async () => {
    await seedAgent(server, "edited", 1);
    const first = receiptOf((await assemble("edited", "--message", "one")).out);
    await putCapsule(server, "edited", {
      persona: { ...capsuleBody.persona, corePrompt: "You are another." },
    });
    const second = receiptOf((await assemble("edited", "--message", "one")).out);
    const { out } = await runCli("receipt", second, "--against", first, ...at());
    expect(out).toMatch(/^differs +the beginning is another one/m);
    expect(out).toMatch(/^then +the system prompt, at section persona$/m);
    expect(out).toMatch(/^changed +capsule edited version 2, now [0-9a-f]{16}$/m);
  });

  it("fails with 1 for a receipt that is not there", async () => {
    const { code, err } = await runCli("receipt", "01a1e276-e772-70da-9ea5-1bcf860ce2d1", ...at());
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("RECEIPT_NOT_FOUND") });
  });
});
