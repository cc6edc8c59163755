import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
        const tokens = Math.max(6_200, Math.floor(served.fake.lastTokens * 0.9));
        served.fake.limit = { tokens, says: turn < turns / 2 };
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
    expect(refusals.length).toBeGreaterThan(4);
    expect(new Set(engine.ran)).toEqual(new Set(["search", "fs/read.file"]));
    expect(calls).toBeGreaterThan(2 * turns);
    expect(providers.map(({ fake }) => fake.answered).reduce((a, b) => a + b)).toBe(calls);
  });
});
