import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../../support/model-server.js";
import { startTestServer, type TestServer } from "../../support/server.js";
import { jsonLines, runCli } from "../support/run-cli.js";
import { capsuleBody, putCapsule, seedAgent } from "../support/seed-agent.js";

let server: TestServer;
let model: ModelServer;
let answer = "They asked for 8 things: c1, c2, c3.\u001b[31m";

beforeAll(async () => {
  model = await startModelServer(() => ({ text: answer, usage: { input: 640, output: 12 } }));
  server = await startTestServer({
    summarizerOpenaiUrl: model.baseUrl("openai"),
    summarizerOpenaiModel: "gpt-small",
    summarizerRetries: 0,
  });
});

afterAll(async () => {
  await server?.stop();
  await model?.close();
});

const quire = (...args: readonly string[]) => runCli(...args, "--address", server.address);
const seeded = async (name: string, turns = 20) => {
  await seedAgent(server, name, turns);
  return name;
};

interface CompactionJson {
  readonly id: string;
  readonly summary: string;
  readonly summarizedTurns: number;
}

describe("quire compact", () => {
  it("says what it did, with what it saves as bars, and shows the summary", async () => {
    const { code, out, err } = await quire("compact", await seeded("plain"));
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const labels = [...out.matchAll(/^(\w+(?: \w+)?) {2,}/gm)].map(([, label]) => label);
    expect(labels.slice(0, 5)).toEqual(["turns", "tokens", "made by", "took", "summary"]);
    expect(out).toMatch(/^turns +17 turns summarized, 3 kept$/m);
    expect(out).toMatch(/^tokens +[\d,]+ -> [\d,]+ tokens, \d+ % of before$/m);
    expect(out).toMatch(/^made by +extractive \(quire extractive-1\)$/m);
    expect(out).toMatch(/^took +(\d+ ms|[\d.]+ s)$/m);
    const bar = (name: string) => new RegExp(`^ {11}${name} +(█*)`, "m").exec(out)![1]!.length;
    const [before, after] = /^tokens +([\d,]+) -> ([\d,]+)/m.exec(out)!.slice(1).map(plainNumber);
    expect(Math.abs(bar("after") / bar("before") - after! / before!)).toBeLessThan(0.05);
    const [, summary] = out.split(/^summary +\d+ tokens\n/m);
    expect(summary).toContain("question");
  });

  it("hands on how many turns to keep, what to reach, the strategy and the instructions", async () => {
    const kept = await quire(
      "compact",
      await seeded("kept"),
      "--keep",
      "1",
      "--strategy",
      "truncate",
      "--json",
    );
    expect(jsonLines(kept.out)).toMatchObject([
      {
        summarizedTurns: 19,
        compressionStrategy: "COMPRESSION_STRATEGY_TRUNCATE",
        summary: "Earlier turns that are not shown: 19.",
      },
    ]);
    const flags = ["--target", "400", "--instructions", "keep every number", "--json"] as const;
    const reached = await quire("compact", await seeded("reached"), ...flags);
    expect(jsonLines(reached.out)).toMatchObject([
      { instructions: "keep every number", parameters: { target_tokens: "400", keep_turns: "3" } },
    ]);
    const [{ tokensAfter }] = jsonLines<{ tokensAfter: number }>(reached.out) as [{ tokensAfter: number }];
    expect(tokensAfter).toBeLessThanOrEqual(400);
  });

  it("asks the summarizers that it is given, in order, and says which could not be used", async () => {
    const { out } = await quire(
      ...["compact", await seeded("asked"), "--summarizer", "anthropic", "--summarizer", "openai"],
    );
    expect(out).toMatch(/^not used +anthropic: is not configured on this server$/m);
    expect(out).toMatch(/^made by +openai \(openai gpt-small\), 640 tokens read and 12 written$/m);
    expect(out).toContain("They asked for 8 things: c1, c2, c3.");
    expect(out).not.toContain("\u001b");
  });

  it("fails with 1 and the reasons, and with 2 for wrong usage", async () => {
    const name = await seeded("failing");
    answer = "";
    const failed = await quire("compact", name, "--summarizer", "openai");
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(failed.err).toContain("reason: COMPACTION_FAILED");
    expect(failed.err).toContain("openai: openai answered with nothing.");
    const short = await quire("compact", await seeded("short", 1), "--json");
    expect(jsonLines(short.err)).toMatchObject([{ error: { reason: "NOTHING_TO_COMPACT" } }]);
    expect(await quire("compact", "nobody")).toMatchObject({
      code: 1,
      err: expect.stringContaining("SESSION_NOT_FOUND"),
    });
    expect(await quire("compact")).toMatchObject({ code: 2 });
    expect(await quire("compact", name, "--keep", "0")).toMatchObject({ code: 2 });
    expect(await quire("compact", name, "--strategy", "forget")).toMatchObject({ code: 2 });
  });
});

describe("quire turns", () => {
  it("shows a compaction before the turn that it hangs off", async () => {
    const name = await seeded("listed");
    const [made] = jsonLines<CompactionJson>((await quire("compact", name, "--json")).out);
    const { out } = await quire("turns", name, "--limit", "2");
    const [, first, second, third] = out.split("\n");
    expect(first).toMatch(new RegExp(`^${made!.id} +compaction +20 +- +\\d+ +extractive-1 +\\d{4}-`));
    expect([second, third]).toEqual([
      expect.stringMatching(/completed +20 /),
      expect.stringMatching(/completed +19 /),
    ]);
    const lines = jsonLines<{ compaction?: CompactionJson; depth?: number }>(
      (await quire("turns", name, "--limit", "2", "--json")).out,
    );
    expect(lines.map(({ compaction, depth }) => compaction?.id ?? depth)).toEqual([made!.id, 20, 19]);
    const said = await quire("turns", name, "--limit", "1", "--messages");
    expect(said.out).toMatch(new RegExp(`^${made!.id} {2}compaction, 17 turns summarized, 3 kept, `, "m"));
    expect(said.out).toContain(`summary\n  ${made!.summary.split("\n")[0]}`);
  });
});

describe("quire assemble", () => {
  const assemble = (name: string, ...args: readonly string[]) =>
    quire("assemble", name, "--capsule", name, "--message", "hello", ...args);

  it("prints that history is compacted, by whom, and what came of it", async () => {
    const { code, out } = await assemble(await seeded("tight", 40), "--max-tokens", "600");
    expect(code).toBe(0);
    const said = [...out.matchAll(/^compaction +(.*)$/gm)].map(([, text]) => text);
    expect(said).toEqual([
      expect.stringMatching(/^[\d,]+ tokens of history to \d+ \(context limit\): summary, ask extractive$/),
      expect.stringMatching(/^done: \d+ turns summarized, \d+ kept; [\d,]+ -> [\d,]+ tokens,/),
    ]);
    expect(out).toMatch(/^ {11}extractive \(quire extractive-1\), in (\d+ ms|[\d.]+ s)$/m);
    expect(out).toMatch(/^history +\d+ tokens, \d+ turns, a summary of \d+ turns before them, no/m);
    expect(out.indexOf("compaction")).toBeLessThan(out.indexOf("\nhistory"));
  });

  it("prints why one was not made, and what is asked of the engine", async () => {
    answer = "";
    const name = await seeded("asking", 40);
    const withSummarizers = (...names: readonly string[]) =>
      putCapsule(server, name, { ...capsuleBody, settings: { summarizers: { names } } });
    await withSummarizers("openai");
    const failed = await assemble(name, "--max-tokens", "600");
    expect(failed.out).toMatch(/^compaction +not made: no summarizer gave a summary that could be used$/m);
    expect(failed.out).toMatch(/^not used +openai answered with nothing\.$/m);
    await withSummarizers("engine");
    const needed = await assemble(name, "--max-tokens", "600");
    expect(needed.out).toMatch(/^compaction +needed: a summary of at most \d+ tokens, by SubmitCompaction$/m);
    expect(needed.out).toMatch(/^history +\d+ tokens, \d+ turns, \d+ older turns left out$/m);
  });
});

function plainNumber(text: string): number {
  return Number(text.replaceAll(",", ""));
}
