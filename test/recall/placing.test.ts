import { afterAll, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { exactModel, putAgent } from "../assembly/agent.js";
import { bothDatabases } from "../assembly/both-databases.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { assistant, user } from "../support/messages.js";
import { startPostgres } from "../support/postgres.js";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const atlas = { kind: "OWNER_KIND_AGENT", name: "atlas" } as const;

async function agent(entries: readonly string[] = [], open = openedEngine) {
  const { quire } = await open();
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s", defaults: { capsule: "atlas", model: exactModel } });
  for (const content of entries) await quire.memory.insertArchival({ owner: atlas, content });
  return quire;
}

async function build(quire: Quire, text: string, rule: object = {}, more: object = {}) {
  const event = { content: [{ content: { $case: "text" as const, value: { text } } }] };
  const { context } = await quire.assembly.buildContext({
    context: {
      session: "s",
      event,
      // However busy the machine is.
      settings: { sources: [{ name: "memory", deadlineMs: 60_000, ...rule }], ...more },
    },
    includeCandidates: true,
  });
  return context!;
}

type Built = Awaited<ReturnType<typeof build>>;

function currentOf({ currentMessage }: Built): string {
  const part = currentMessage?.contextParts[0]?.content;
  return part?.$case === "text" ? part.value.text : "";
}

function leadOf({ leadMessages }: Built): string {
  return leadMessages
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === "text" ? content.value.text : "")))
    .join("\n");
}

function answer(quire: Quire, { assemblyId }: Built, question: string, words: string) {
  return quire.ledger.recordTurn({ session: "s", assemblyId, messages: [user(question), assistant(words)] });
}

const entries = [
  "The spare key of the cabin hangs behind the barn.",
  "The walrus in the zoo of Oslo is called Bertil.",
];
const aboutKey = "Where is the spare key of the cabin?";
const aboutWalrus = "How is the walrus in the zoo of Oslo called?";

for (const [position, placeOf] of [
  ["SOURCE_POSITION_SYSTEM", ({ systemPrompt }: Built) => systemPrompt],
  ["SOURCE_POSITION_BEFORE_HISTORY", leadOf],
] as const)
  test(`${position}: recalled with the prefix it stands there and nowhere else; while the prefix stays, what is new is in the current message`, async () => {
    const quire = await agent(entries);
    const rule = { position };
    const first = await build(quire, aboutKey, rule);
    expect(placeOf(first)).toContain("behind the barn");
    expect(currentOf(first)).not.toContain("<memory");
    await answer(quire, first, aboutKey, "Behind the barn.");
    const same = await build(quire, aboutKey, rule);
    expect(placeOf(same)).toBe(placeOf(first));
    expect(currentOf(same)).not.toContain("<memory");
    const other = await build(quire, aboutWalrus, rule);
    expect(placeOf(other)).toBe(placeOf(first));
    expect(currentOf(other)).toContain("Bertil");
    expect(currentOf(other)).not.toContain("behind the barn");
    await answer(quire, other, aboutWalrus, "Bertil.");
    const again = await build(quire, `And once more: ${aboutWalrus}`, rule);
    expect(currentOf(again)).not.toContain("Bertil");
    const live = await build(quire, aboutKey, rule, { prefix: "PREFIX_POLICY_LIVE" });
    expect(placeOf(live)).toContain("behind the barn");
    for (const context of [first, other]) {
      const { context: replayed } = await quire.assembly.replayContext({ assemblyId: context.assemblyId });
      expect(replayed).toMatchObject({
        systemPrompt: context.systemPrompt,
        leadMessages: context.leadMessages,
      });
      expect(currentOf(replayed!)).toBe(currentOf(context));
    }
  });

test("before history, folded turns come back that the context before no longer showed, and none that history shows", async () => {
  const quire = await agent();
  const rule = { position: "SOURCE_POSITION_SYSTEM" } as const;
  const say = (question: string, words: string) =>
    quire.ledger.recordTurn({ session: "s", messages: [user(question), assistant(words)] });
  await say("The staging password hint is purple walrus.", "I will remember the hint.");
  for (let at = 0; at < 8; at++) await say(`Small talk number ${at}.`, `Indeed, ${at}.`);
  await quire.ledger.compact({
    session: "s",
    keepTurns: 2,
    compressionStrategy: "COMPRESSION_STRATEGY_TRUNCATE",
  });
  const about = await build(quire, "Which hint did I give for the staging password?", rule);
  expect(about.sections.map(({ name }) => name)).toContain("source memory");
  expect(about.systemPrompt).toContain("purple walrus");
  const shown = await build(quire, "What was small talk number 7?", rule);
  expect(shown.systemPrompt).not.toContain("Small talk number 7.");
});

test("formats: raw as it was written, a summary by the stretch that says most, structured as JSON with what is known of it", async () => {
  const filler = "Nothing else happened on that day, and nobody minded it at all. ".repeat(10);
  const quire = await agent([
    `${filler}The deploy of src/billing/run-order.ts failed with code E4411 in hall seven. ${filler}`,
  ]);
  const question = "Why did the deploy of src/billing/run-order.ts fail in hall seven?";
  const bodyOf = (context: Built) =>
    /<memory[^>]*>\n([\s\S]*?)\n<\/memory>/.exec(currentOf(context))?.[1] ?? "";
  const raw = bodyOf(await build(quire, question));
  const summary = bodyOf(await build(quire, question, { format: "SOURCE_FORMAT_SUMMARY" }));
  expect(raw.length).toBeGreaterThan(600);
  expect(summary).toContain("E4411");
  expect(summary.length).toBeLessThanOrEqual(250);
  const context = await build(quire, question, { format: "SOURCE_FORMAT_STRUCTURED" });
  const line = currentOf(context)
    .split("\n")
    .find((one) => one.startsWith("{"));
  const known = JSON.parse(line!);
  expect(known).toMatchObject({ from: "archival memory", names: ["src/billing/run-order.ts", "E4411"] });
  expect(known.about).toEqual(expect.arrayContaining(["deploy", "hall", "seven"]));
  expect(known.text).toContain("E4411");
  const tight = await build(quire, question, { format: "SOURCE_FORMAT_STRUCTURED", maxTokens: 60 });
  expect(currentOf(tight)).not.toContain('{"id"');
});

test.each(
  bothDatabases(postgres),
)("$name: a short answer comes with what it answers, a question with its answer, each once", async ({
  open,
  isMissing,
}) => {
  if (isMissing) return;
  const quire = await agent([], open);
  const say = (question: string, words: string) =>
    quire.ledger.recordTurn({ session: "s", messages: [user(question), assistant(words)] });
  await say("Shall the parade float be the turquoise walrus or the orange pelican?", "The walrus, yes.");
  await say("Ticket OPS-2291 is about the pump in hall seven.", "Noted.");
  for (let at = 0; at < 6; at++) await say(`Small talk number ${at}.`, `Indeed, ${at}.`);
  await quire.ledger.compact({ session: "s", keepTurns: 2 });
  const found = currentOf(await build(quire, "Was the parade float turquoise or orange?"));
  expect(found.match(/<memory/g)).toHaveLength(1);
  expect(found).toContain(
    "user: Shall the parade float be the turquoise walrus or the orange pelican?\nassistant: The walrus, yes.",
  );
  const short = currentOf(await build(quire, "What about the walrus?"));
  expect(short.match(/turquoise walrus/g)).toHaveLength(1);
  expect(short.match(/The walrus, yes/g)).toHaveLength(1);
});

test("what says nothing new is left out: neither what the event says itself, nor the same twice", async () => {
  const parcels = "parcel ".repeat(200);
  const quire = await agent([
    parcels,
    "The parcel from Bergen holds a blue lamp.",
    "The  parcel from Bergen holds a blue lamp!",
  ]);
  const found = currentOf(await build(quire, "What does the parcel from Bergen hold?"));
  expect(found.match(/blue lamp/g)).toHaveLength(1);
  expect(found).not.toContain("parcel parcel");
});

test("the reserve is what can be recalled, at most recall's own limit, as a power of two; nothing where there is nothing", async () => {
  const quire = await agent();
  const reserveOf = async (rule: object = {}) => {
    const { assemblyId } = await build(quire, aboutKey, rule);
    const { receipt } = await quire.assembly.getReceipt({ assemblyId });
    return receipt!.cut!.memoryReserve;
  };
  expect(await reserveOf()).toBe(0);
  await quire.memory.insertArchival({ owner: atlas, content: entries[0]! });
  expect(await reserveOf()).toBe(16);
  for (let at = 0; at < 40; at++)
    await quire.memory.insertArchival({
      owner: atlas,
      content: `Shelf ${at} holds ${"books and ".repeat(60)}lamps.`,
    });
  expect(await reserveOf()).toBe(2_048);
  expect(await reserveOf({ maxTokens: 300 })).toBe(512);
  expect(await reserveOf({ position: "SOURCE_POSITION_SYSTEM", maxTokens: 300 })).toBe(512);
});
