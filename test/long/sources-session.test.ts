import { expect, test } from "vitest";
import { type Json, promptBlocks } from "../../bench/cache-body.js";
import { claude } from "../../bench/cache-providers.js";
import { SeriesKind } from "../../src/domain/source-item.js";
import { putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { assistant, user } from "../support/messages.js";

const turns = Number(process.env.QUIRE_SOURCE_TURNS ?? 200);

test("a session with all sources on, whose values change every turn, is read from the cache for at least 90 %, and every context is replayed", {
  timeout: 600_000,
}, async () => {
  let nowMs = Date.UTC(2026, 0, 15);
  const { quire } = await openedEngine({}, { clock: { now: () => nowMs } });
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s" });
  const items = [
    { entity: { name: "Ada", type: "person", description: "the user" } },
    { relation: { from: "Ada", relation: "works at", to: "the lab" } },
    { preference: { text: "concise" } },
    { fact: { entity: "gold", text: "a metal" } },
    { procedure: { title: "Check the price", steps: "1. look\n2. tell" } },
    { rule: { text: "Verify prices before stating them", priority: 1 } },
    { fewShot: { user: "What is BTC at?", assistant: "Let me look.", order: 1 } },
    {
      skill: {
        name: "prices",
        description: "looks prices up",
        keywords: ["price"],
        guide: "Call it with a name.",
      },
    },
    { mail: { sender: "Bob", subject: "Report" } },
  ];
  await quire.sources.putItems({
    agent: "atlas",
    items: items.map((item) => {
      const [[$case, value]] = Object.entries(item) as [[string, object]];
      return { item: { $case, value } };
    }) as never,
  });
  const cache = claude.cache();
  const usages: { readonly read: number; readonly input: number }[] = [];
  for (let turn = 0; turn < turns; turn++) {
    nowMs += 20_000;
    await quire.sources.recordObservations({
      agent: "atlas",
      observations: [
        { kind: SeriesKind.VALUE, name: "BTC", value: 60_000 + ((turn * 7_919) % 9_000), unit: "$" },
        { kind: SeriesKind.DOMAIN, name: "finance", value: (turn * 31) % 2 },
        { kind: SeriesKind.SKILL, name: "forecasts", value: (turn * 17) % 3 === 0 ? 0 : 1 },
      ],
    });
    const text = `Ada asks for the price, question ${turn}: ${"what does it mean for the plan of the day? ".repeat(12)}`;
    const { context, rendered } = await quire.assembly.buildContext({
      context: {
        session: "s",
        capsule: "atlas",
        model: claude.name,
        event: { content: [{ content: { $case: "text", value: { text } } }] },
        render: claude.bodyFormat,
      },
    });
    if (turn >= 3)
      expect(context!.sources.filter(({ state }) => state === "SOURCE_STATE_OK")).toHaveLength(11);
    const body = JSON.parse(rendered!.body.toString("utf8")) as Json;
    usages.push(cache.request(promptBlocks("anthropic", body, claude.ratio), nowMs));
    const replayed = await quire.assembly.replayContext({
      assemblyId: context!.assemblyId,
      render: claude.bodyFormat,
    });
    expect(replayed.rendered!.body.equals(rendered!.body)).toBe(true);
    expect(replayed.context).toEqual(context);
    await quire.ledger.recordTurn({
      session: "s",
      assemblyId: context!.assemblyId,
      messages: [user(text), assistant(`Answer ${turn}: ${"it depends on what comes next. ".repeat(10)}`)],
    });
  }
  const sum = (of: "read" | "input") => usages.reduce((total, usage) => total + usage[of], 0);
  expect(sum("read") / sum("input")).toBeGreaterThanOrEqual(0.9);
});
