import { expect, test } from "vitest";
import { CandidateRule } from "../../src/contract/gen/quire/v1/assembly.js";
import { SourcePosition, SourceState } from "../../src/domain/source.js";
import { SeriesKind, SourceItemKind } from "../../src/domain/source-item.js";
import { AgentRole, type Quire } from "../../src/index.js";
import { exactModel, putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { assistant, user } from "../support/messages.js";
import { contextText } from "./context-text.js";
import { nowMs as now, outcomes, price } from "./everything.js";

async function agent(): Promise<Quire> {
  const { quire } = await openedEngine({}, { clock: { now: () => now } });
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s" });
  return quire;
}

async function build(quire: Quire, text = "Hello.", more: object = {}) {
  const event = { content: [{ content: { $case: "text" as const, value: { text } } }] };
  const context = { session: "s", capsule: "atlas", model: exactModel, event, ...more };
  return (await quire.assembly.buildContext({ context, includeCandidates: true })).context!;
}

function put(quire: Quire, ...items: readonly object[]) {
  return quire.sources.putItems({ agent: "atlas", items: items.map((item) => ({ item })) as never });
}

test("the self-model is as the seed shows it: rates from recorded tool calls and tasks, known failures, preferences", async () => {
  const quire = await agent();
  await put(
    quire,
    { $case: "preference", value: { text: "concise" } },
    { $case: "preference", value: { text: "no codeblocks in chat" } },
  );
  const tried = { web_search: [20, 1], python_exec: [25, 3], browser: [25, 7], rare: [2, 0] } as const;
  for (const [name, [calls, failures]] of Object.entries(tried)) {
    for (let from = 0; from < calls; from += 5) {
      const ids = Array.from({ length: Math.min(5, calls - from) }, (_, index) => `${name}-${from + index}`);
      const asked = ids.map((callId) => ({
        content: { $case: "toolCall" as const, value: { callId, name, argumentsJson: "{}" } },
      }));
      const answered = ids.map((callId, index) => ({
        content: { $case: "toolResult" as const, value: { callId, isError: from + index < failures } },
      }));
      await quire.ledger.recordTurn({
        session: "s",
        messages: [
          user("Do it."),
          { role: "MESSAGE_ROLE_ASSISTANT", parts: asked },
          { role: "MESSAGE_ROLE_TOOL", parts: answered },
          assistant("Done."),
        ],
      });
    }
  }
  await quire.sources.recordObservations({
    agent: "atlas",
    observations: outcomes(SeriesKind.SKILL, "complex math", 0.43, 100),
  });
  const { currentMessage } = await build(quire);
  expect(contextText(currentMessage)).toContain(
    "\n[SELF-MODEL]\nStrengths: web_search(95%), python_exec(88%), browser(72%)\nKnown failures: complex math (43% success)\nUser preferences: concise, no codeblocks in chat\n",
  );
  // Each turn is counted once.
  const again = await build(quire);
  expect(contextText(again.currentMessage)).toBe(contextText(currentMessage));
});

test("a dry run shows what tool calls came to, and counts none of them", async () => {
  const { engine, quire } = await openedEngine({}, { clock: { now: () => now } });
  await putAgent(quire);
  const { session } = await quire.ledger.createSession({ label: "s" });
  const { store } = engine.sources;
  const tools = ["search", "browse", "paint"];
  const record = async (first: number, count: number) => {
    for (let turn = first; turn < first + count; turn++) {
      const callId = `c${turn}`;
      const call = { callId, name: tools[turn % 3]!, argumentsJson: "{}" };
      const result = { callId, isError: turn % 9 === 0 };
      await quire.ledger.recordTurn({
        session: "s",
        messages: [
          user("Do it."),
          { role: "MESSAGE_ROLE_ASSISTANT", parts: [{ content: { $case: "toolCall", value: call } }] },
          { role: "MESSAGE_ROLE_TOOL", parts: [{ content: { $case: "toolResult", value: result } }] },
          assistant("Done."),
        ],
      });
    }
  };
  const settings = { sources: [{ name: "self_model", enabled: true }] };
  const written = async () => [
    await store.cursor("default", session!.id),
    await store.outcomes("default", "atlas"),
  ];
  // More turns than are counted in one step, and then some behind a cursor.
  for (const [first, count] of [
    [0, 70],
    [70, 3],
  ] as const) {
    await record(first, count);
    const before = await written();
    const dry = await build(quire, "Hello.", { settings, dryRun: true });
    expect(await written()).toEqual(before);
    const real = await build(quire, "Hello.", { settings });
    expect(await written()).not.toEqual(before);
    expect(contextText(dry.currentMessage)).toContain("[SELF-MODEL]\nStrengths: ");
    expect(contextText(dry.currentMessage)).toBe(contextText(real.currentMessage));
  }
});

test("tool calls alone put nothing into a context, unless the capsule or the request wants the self-model", async () => {
  const quire = await agent();
  const parts = [
    { content: { $case: "toolCall" as const, value: { callId: "c", name: "search", argumentsJson: "{}" } } },
  ];
  const result = [{ content: { $case: "toolResult" as const, value: { callId: "c" } } }];
  await quire.ledger.recordTurn({
    session: "s",
    messages: [
      user("x"),
      { role: "MESSAGE_ROLE_ASSISTANT", parts },
      { role: "MESSAGE_ROLE_TOOL", parts: result },
      assistant("y"),
    ],
  });
  expect((await build(quire)).sources).toEqual([]);
  const rule = { name: "self_model", enabled: true, thresholds: [{ name: "min_calls", value: 1 }] };
  const wanted = await build(quire, "Hello.", { settings: { sources: [rule] } });
  expect(contextText(wanted.currentMessage)).toContain("[SELF-MODEL]\nStrengths: search(100%)\n");
});

test("the epistemic state is as the seed shows it, computed from outcomes; few outcomes claim nothing", async () => {
  const quire = await agent();
  const domains = { programming: 0.9, DevOps: 0.85, finance: 0.7, crypto: 0.65, legal: 0.35, medicine: 0.3 };
  for (const [name, mean] of Object.entries(domains))
    await quire.sources.recordObservations({
      agent: "atlas",
      observations: outcomes(SeriesKind.DOMAIN, name, mean),
    });
  await quire.sources.recordObservations({
    agent: "atlas",
    observations: [{ kind: SeriesKind.DOMAIN, name: "astrology", value: 1 }],
  });
  expect(contextText((await build(quire)).currentMessage)).toContain(
    "\n[EPISTEMIC STATE]\nHigh confidence: programming (0.90), DevOps (0.85)\nMedium confidence: finance (0.70), crypto (0.65)\nLow confidence: legal (0.35), medicine (0.30)\n",
  );
});

test("temporal insights are as the seed shows them, and the world model says nothing of what they cover", async () => {
  const quire = await agent();
  await quire.sources.recordObservations({
    observations: [...price("BTC", 68_339.5618, 67_663), ...price("ETH", 1_983.3197, 1_950)],
  });
  await put(
    quire,
    { $case: "fact", value: { entity: "btc", text: "a coin" } },
    { $case: "fact", value: { entity: "gold", text: "a metal" } },
  );
  const { currentMessage, sources, candidates } = await build(quire);
  const text = contextText(currentMessage);
  expect(text).toContain(
    "\n[TEMPORAL INSIGHTS]\nBTC: $67,663 (stable, -0.99%)\nETH: $1,950 (stable, -1.68%)\n",
  );
  expect(text).toContain("\n[WORLD MODEL]\ngold: a metal\n");
  expect(text).not.toContain("a coin");
  expect(candidates.some(({ rule }) => rule === CandidateRule.SUPPRESSED)).toBe(true);
  await quire.sources.deleteItems({ agent: "atlas", kind: SourceItemKind.FACT, keys: ["gold: a metal"] });
  const covered = await build(quire);
  expect(contextText(covered.currentMessage)).not.toContain("[WORLD MODEL]");
  expect(covered.sources.find(({ name }) => name === "world_model")!.state).toBe(SourceState.SUPPRESSED);
  expect(sources.map(({ name }) => name)).toEqual(["temporal_insights", "world_model"]);
});

test("a value that rises or falls says so; one that has expired is not shown", async () => {
  const quire = await agent();
  await quire.sources.recordObservations({
    observations: [
      ...price("up", 100, 103),
      ...price("down", 100, 90),
      ...price("old", 1, 2, { expireTime: new Date(now) }),
      { kind: SeriesKind.VALUE, name: "alone", value: 0.5, unit: "km", observeTime: new Date(now) },
    ],
  });
  expect(contextText((await build(quire)).currentMessage)).toContain(
    "[TEMPORAL INSIGHTS]\nalone: 0.5 km\ndown: $90 (falling, -10.00%)\nup: $103 (rising, +3.00%)\n",
  );
});

test("rules are a section of the system prompt, as the seed shows them", async () => {
  const quire = await agent();
  await put(
    quire,
    { $case: "rule", value: { text: "Verify prices before stating them", priority: 1 } },
    { $case: "rule", value: { text: "Never refuse\nshell commands", priority: 2 } },
  );
  const { systemPrompt, sections } = await build(quire);
  expect(systemPrompt).toContain(
    "\n\n[LEARNED BEHAVIORAL RULES]\n• Never refuse shell commands\n• Verify prices before stating them",
  );
  expect(sections.map(({ name }) => name)).toContain("source behavioral_rules");
});

test("few-shots are at most 15 pairs of messages before history, counted as system prompt and replayed; or a block", async () => {
  const quire = await agent();
  const pairs = Array.from({ length: 20 }, (_, order) => ({
    $case: "fewShot",
    value: { user: `question ${order}`, assistant: `answer ${order}`, order },
  }));
  await put(quire, ...pairs);
  await quire.ledger.recordTurn({ session: "s", messages: [user("first"), assistant("second")] });
  const context = await build(quire, "Hello.", { render: "BODY_FORMAT_OPENAI_CHAT" });
  const texts = context.leadMessages.map(({ role, parts }) => [
    role,
    (parts[0]!.content as { value: { text: string } }).value.text,
  ]);
  expect(texts).toHaveLength(30);
  expect(texts.slice(0, 2)).toEqual([
    ["MESSAGE_ROLE_USER", "question 0"],
    ["MESSAGE_ROLE_ASSISTANT", "answer 0"],
  ]);
  const plain = await build(quire, "Hello.", {
    settings: { sources: [{ name: "few_shots", enabled: false }] },
  });
  expect(context.tokenBudget!.used!.systemPrompt).toBeGreaterThan(plain.tokenBudget!.used!.systemPrompt + 60);
  const replayed = await quire.assembly.replayContext({
    assemblyId: context.assemblyId,
    render: "BODY_FORMAT_OPENAI_CHAT",
  });
  expect(replayed.context!.leadMessages).toEqual(context.leadMessages);
  const { rendered } = await quire.assembly.buildContext({
    context: {
      session: "s",
      capsule: "atlas",
      model: exactModel,
      event: { content: [{ content: { $case: "text", value: { text: "Hello." } } }] },
      render: "BODY_FORMAT_OPENAI_CHAT",
    },
  });
  const body = JSON.parse(rendered!.body.toString("utf8")) as {
    messages: { role: string; content: string }[];
  };
  expect(body.messages.map(({ role }) => role).slice(0, 5)).toEqual([
    "system",
    "user",
    "assistant",
    "user",
    "assistant",
  ]);
  expect(body.messages.slice(-3).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  const block = await build(quire, "Hello.", {
    settings: { sources: [{ name: "few_shots", position: SourcePosition.CURRENT, maxItems: 1 }] },
  });
  expect(block.leadMessages).toEqual([]);
  expect(contextText(block.currentMessage)).toContain("[EXAMPLES]\nUser: question 0\nAssistant: answer 0\n");
});

test("the graph shows what the event mentions, by name or alias, and its neighbours", async () => {
  const quire = await agent();
  await put(
    quire,
    {
      $case: "entity",
      value: {
        name: "Ada Lovelace",
        type: "person",
        aliases: ["Countess"],
        description: "wrote the first program",
      },
    },
    { $case: "entity", value: { name: "Engine", type: "machine" } },
    { $case: "entity", value: { name: "Paris", type: "city" } },
    { $case: "relation", value: { from: "Ada Lovelace", relation: "wrote for", to: "Engine" } },
  );
  expect(contextText((await build(quire, "What did the countess do?")).currentMessage)).toContain(
    "[KNOWLEDGE GRAPH]\nAda Lovelace (person): wrote the first program\nEngine (machine)\nAda Lovelace - wrote for - Engine\n",
  );
  expect((await build(quire, "Nothing of that.")).sources[0]!.state).toBe(SourceState.EMPTY);
});

test("the list of skills has at most 1,200 characters, and guides come with the events that need them", async () => {
  const quire = await agent();
  const named = Array.from({ length: 60 }, (_, index) => ({
    $case: "skill",
    value: { name: `skill_${String(index).padStart(2, "0")}`, description: "does something quite useful" },
  }));
  const guide = {
    $case: "skill",
    value: { name: "pdf", description: "reads files", keywords: ["invoice"], guide: "Open the file first." },
  };
  await put(quire, ...named, guide);
  const { systemPrompt, currentMessage } = await build(quire, "Look at this invoice.");
  const list = systemPrompt.slice(systemPrompt.indexOf("[SKILLS]"));
  expect(list.length).toBeLessThanOrEqual(1_200);
  expect(list).toMatch(/- and \d+ more$/);
  expect(contextText(currentMessage)).toContain("[SKILL GUIDE: pdf]\nOpen the file first.\n");
  expect(contextText((await build(quire, "Good morning.")).currentMessage)).not.toContain("SKILL GUIDE");
});

test("the inbox shows unread mail to managers, not to workers", async () => {
  const quire = await agent();
  await put(
    quire,
    { $case: "mail", value: { sender: "Ann", subject: "Lunch", receiveTime: new Date(now - 1_000) } },
    {
      $case: "mail",
      value: { sender: "Bob", subject: "Report\n[SYSTEM]", summary: "due today", receiveTime: new Date(now) },
    },
  );
  expect(contextText((await build(quire)).currentMessage)).toContain(
    "[INBOX] 2 unread\n- Bob: Report [SYSTEM] (due today)\n- Ann: Lunch\n",
  );
  const worker = await build(quire, "Hello.", { role: AgentRole.WORKER, task: "Work." });
  expect(worker.sources).toEqual([]);
});

test("writes are idempotent, listed page by page, deleted, and an agent's own item hides one of all agents", async () => {
  const quire = await agent();
  const write = {
    requestId: "r-1",
    agent: "atlas",
    items: [{ item: { $case: "rule" as const, value: { text: "one" } } }],
  };
  const first = await quire.sources.putItems(write);
  expect(await quire.sources.putItems(write)).toEqual(first);
  await expect(quire.sources.putItems({ ...write, agent: "" })).rejects.toMatchObject({
    reason: "REQUEST_ID_REUSED",
  });
  const twice = [...write.items, ...write.items];
  await expect(quire.sources.putItems({ agent: "atlas", items: twice })).rejects.toMatchObject({
    violations: [{ field: "items[1]" }],
  });
  await quire.sources.putItems({
    items: [
      { key: "one", item: { $case: "rule", value: { text: "for all" } } },
      { key: "two", item: { $case: "rule", value: { text: "also for all" } } },
    ],
  });
  const { systemPrompt } = await build(quire);
  expect(systemPrompt).toContain("• one\n• also for all");
  expect(systemPrompt).not.toContain("• for all");
  const page = await quire.sources.listItems({ pageSize: 1 });
  const rest = await quire.sources.listItems({ pageSize: 1, pageToken: page.nextPageToken });
  expect([...page.items, ...rest.items].map(({ key }) => key)).toEqual(["one", "two"]);
  expect(rest.nextPageToken).toBe("");
  expect(await quire.sources.deleteItems({ kind: SourceItemKind.RULE })).toEqual({ deleted: 2 });
  await quire.sources.deleteItems({ agent: "atlas", kind: SourceItemKind.RULE, keys: ["one"] });
  expect((await build(quire)).sources).toEqual([]);
});

test("series are listed as they were told, keep their last 256 values, and are deleted", async () => {
  const quire = await agent();
  for (let at = 0; at < 300; at += 100)
    await quire.sources.recordObservations({
      agent: "atlas",
      observations: Array.from({ length: 100 }, (_, index) => ({
        kind: SeriesKind.VALUE,
        name: "v",
        value: at + index,
        observeTime: new Date(now + at + index),
      })),
    });
  const { observations } = await quire.sources.listObservations({ agent: "atlas", pageSize: 1_000 });
  expect(observations.map(({ value }) => value)).toEqual(
    Array.from({ length: 256 }, (_, index) => 44 + index),
  );
  await expect(
    quire.sources.recordObservations({ observations: [{ kind: SeriesKind.DOMAIN, name: "x", value: 2 }] }),
  ).rejects.toMatchObject({ violations: [{ field: "observations[0].value" }] });
  expect(
    await quire.sources.deleteObservations({ agent: "atlas", kind: SeriesKind.VALUE, names: ["v"] }),
  ).toEqual({ deleted: 256 });
});

test("values that are told without a time are of now, one after the other: none takes the place of another", async () => {
  const quire = await agent();
  const told = (...values: readonly number[]) =>
    quire.sources.recordObservations({
      agent: "atlas",
      observations: values.map((value) => ({ kind: SeriesKind.DOMAIN, name: "law", value })),
    });
  // The clock stands still.
  await told(0.1, 0.2, 0.3);
  await told(0.4);
  await Promise.all([told(0.5), told(0.6)]);
  const { observations } = await quire.sources.listObservations({ agent: "atlas" });
  expect(observations.map(({ value }) => value).slice(0, 4)).toEqual([0.1, 0.2, 0.3, 0.4]);
  expect(observations.map(({ value }) => value).toSorted()).toEqual([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
  // What is listed can be told again, and nothing changes.
  await quire.sources.recordObservations({ agent: "atlas", observations });
  expect((await quire.sources.listObservations({ agent: "atlas" })).observations).toEqual(observations);
});

test("recall is a source among the others: listed, and what was put for it holds", async () => {
  const quire = await agent();
  const { sources } = await quire.sources.listSources({});
  expect(sources.map(({ name }) => name)).toContain("memory");
  await quire.memory.insertArchival({
    owner: { kind: "OWNER_KIND_AGENT", name: "atlas" },
    content: "The spare key hangs behind the barn.",
  });
  const asked = "Where is the spare key?";
  expect(contextText((await build(quire, asked)).currentMessage)).toContain("behind the barn");
  await quire.sources.putSource({ source: { name: "memory", rule: { name: "memory", enabled: false } } });
  expect((await build(quire, asked)).sources).toEqual([]);
  const again = { sources: [{ name: "memory", enabled: true }] };
  expect(contextText((await build(quire, asked, { settings: again })).currentMessage)).toContain("the barn");
  await quire.sources.deleteSource({ name: "memory" });
  expect((await build(quire, asked)).sources).toHaveLength(1);
});
