import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { testQuire } from "../in-process/quire-fixture.js";
import { Engine, type Served, startProviders } from "./provider-engine.js";

let providers: readonly Served[];
beforeAll(async () => {
  providers = await startProviders();
});
afterAll(async () => {
  for (const { fake } of providers) await fake.close();
});

async function agent() {
  const quire = await testQuire();
  await quire.capsules.putCapsule({
    name: "agent",
    body: {
      persona: {
        corePrompt: "You are an agent that looks things up.",
        model: { model: "claude-sonnet-5-5", thinking: { enabled: true, effort: "low" } },
      },
    },
  });
  await quire.ledger.createSession({ label: "thread" });
  return quire;
}

/** How many reported usages a model's ratio was learned from. */
async function evidenceOf(quire: Quire, name: string): Promise<number> {
  const { models } = await quire.assembly.listModels({ pageSize: 1_000 });
  return models.find((model) => model.name === name)!.evidence;
}

const turns = 200;
const turnsEach = 10;

describe("providers as strict as the real ones", () => {
  test("200 turns with tools, one thread from provider to provider: nothing is refused, and all answers come back as they were", async () => {
    const quire = await agent();
    const engine = new Engine(quire, "thread", { maxContextTokens: 12_000 });
    let calls = 0;
    for (let turn = 0; turn < turns; turn++) {
      const served = providers[Math.floor(turn / turnsEach) % providers.length]!;
      // Once in each stretch a provider's window turns out to be smaller than anybody knew.
      const isOverflow = turn % turnsEach === 7;
      if (isOverflow) {
        const tokens = Math.max(5_400, Math.floor(served.fake.lastTokens * 0.9));
        served.fake.limit = { tokens, says: turn >= turns / 2 };
      }
      calls += await engine.turn(
        served,
        `Question ${turn}: what about it?`,
        (name) => `${name} says: ${"x y ".repeat(60)}`,
      );
      served.fake.limit = undefined;
    }
    const refusals = providers.flatMap(({ fake }) => fake.refusals);
    const others = refusals.filter((refusal) => !/too long|exceed|maximum/.test(refusal));
    expect(others).toEqual([]);
    expect(refusals.filter((refusal) => /\d{4}/.test(refusal)).length).toBeGreaterThan(0);
    expect(refusals.filter((refusal) => !/\d{4}/.test(refusal)).length).toBeGreaterThan(3);
    expect(new Set(engine.ran)).toEqual(new Set(["search", "fs/read.file"]));
    expect(calls).toBeGreaterThan(2 * turns);
    expect(providers.map(({ fake }) => fake.answered).reduce((a, b) => a + b)).toBe(calls);
  });

  test("an agent that always uses tools is counted within 3 % after 30 calls, and its cache is compared like with like", async () => {
    const quire = await agent();
    const engine = new Engine(quire, "thread");
    const [served] = providers;
    const rambling = Array.from(
      { length: 400 },
      (_, at) => `The ${at}th of the many things that were found.`,
    ).join(" ");
    let calls = 0;
    while (calls < 30) calls += await engine.turn(served!, `Question ${calls}?`, () => rambling);
    // It learns when it has answered, and nobody waits for it.
    await expect.poll(() => evidenceOf(quire, served!.model), { timeout: 60_000 }).toBeGreaterThan(25);
    // A session keeps the ratio that its cut was made with; a fork begins with the newest.
    const fork = await quire.ledger.forkSession({ session: "thread", label: "later" });
    const later = new Engine(quire, "later", {}, fork.session!.headTurnId);
    const { context } = await quire.assembly.buildContext({ context: later.request(served!, "And now?") });
    await later.turn(served!, "And now?", () => rambling);
    const { used, margin } = context!.tokenBudget!;
    const estimate = used!.total / (1 + margin);
    const { turns: reported } = await quire.assembly.getCacheReport({ session: "later", turns: 1 });
    expect(Math.abs(estimate / later.firstTokens - 1)).toBeLessThan(0.03);
    for (const { predicted, inputTokens } of reported) {
      const { readTokens, writeTokens, freshTokens } = predicted!;
      expect(Math.abs((readTokens + writeTokens + freshTokens) / inputTokens - 1)).toBeLessThan(0.03);
    }
  });
});
