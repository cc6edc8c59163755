import { expect, test } from "vitest";
import { openTestQuire, testNow } from "../assembly/engine.js";
import { text } from "../in-process/quire-fixture.js";
import { named, setText } from "../memory/memory-quire.js";

const turns = 200;
const editEvery = 5;

/** What a person and an agent say in a turn. */
const question = (turn: number) =>
  `Question ${turn}: what did we decide about item ${turn % 17}, and who has to know of it?`;
const answer = (turn: number) =>
  `Answer ${turn}: item ${turn % 17} goes on as it was planned; I have told everybody who has to know of it.`;

test(`an agent keeps a core block with the memory tools over ${turns} turns: the prompt cache stays warm, and every context is replayed byte for byte`, {
  timeout: 600_000,
}, async () => {
  let now = testNow;
  const quire = await openTestQuire({}, () => now);
  const persona = {
    corePrompt: `You are Entropy. ${"You break tasks down and remember what was decided. ".repeat(120)}`,
    model: { model: "claude-sonnet-5-5" },
    memory: { tools: true },
  };
  await quire.capsules.putCapsule({ name: "entropy", body: { persona } });
  await quire.memory.createBlock({
    block: named("decisions"),
    type: "BLOCK_TYPE_CORE",
    description: "What was decided",
    operations: [setText("Nothing yet.")] as never,
  });
  await quire.ledger.createSession({ label: "s" });
  const made: { readonly assemblyId: string; readonly systemPrompt: string; readonly whole: string }[] = [];
  let read = 0;
  let input = 0;
  let compactionId = "";
  for (let turn = 1; turn <= turns; turn++) {
    now += 60_000;
    const event = { content: [text(question(turn))] };
    const { context } = await quire.assembly.buildContext({
      context: { session: "s", capsule: "entropy", event },
    });
    const { assemblyId, systemPrompt, hashes, cachePlan, historyLayer } = context!;
    made.push({ assemblyId, systemPrompt, whole: hashes!.whole.toString("hex") });
    // The first context, and the first after a compaction, have to write everything anew.
    const isBetween = historyLayer!.compactionId === compactionId;
    compactionId = historyLayer!.compactionId;
    if (turn > 1 && isBetween) {
      read += cachePlan!.readTokens;
      input += cachePlan!.readTokens + cachePlan!.writeTokens + cachePlan!.freshTokens;
    }
    const messages = [{ role: "MESSAGE_ROLE_USER" as const, parts: [text(question(turn))] }];
    const result = { messages: [{ role: "MESSAGE_ROLE_ASSISTANT" as const, parts: [text(answer(turn))] }] };
    await quire.ledger.recordTurn({
      session: "s",
      parentTurnId: context!.parentTurnId,
      assemblyId,
      messages,
      result,
    });
    if (turn % editEvery === 0) {
      const argumentsJson = JSON.stringify({
        label: "decisions",
        content: `Turn ${turn}: item ${turn % 17} goes on.`,
      });
      const { isError } = await quire.memory.executeTool({
        requestId: `call ${turn}`,
        agent: "entropy",
        name: "memory_append",
        argumentsJson,
      });
      expect(isError).toBe(false);
    }
  }
  console.log(
    `read from the cache: ${((100 * read) / input).toFixed(1)} % of ${input} tokens in ${made.length - 1} turns or fewer`,
  );
  expect(read / input).toBeGreaterThanOrEqual(0.95);
  const { block } = await quire.memory.getBlock({ block: named("decisions") });
  expect(block!.text.split("\n")).toHaveLength(1 + turns / editEvery);
  for (const { assemblyId, systemPrompt, whole } of made) {
    const { context } = await quire.assembly.replayContext({ assemblyId });
    expect(context!.systemPrompt).toBe(systemPrompt);
    expect(context!.hashes!.whole.toString("hex")).toBe(whole);
  }
  await quire.close();
});
