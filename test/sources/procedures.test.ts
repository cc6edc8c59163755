import { expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { exactModel, putAgent } from "../assembly/agent.js";
import { openedEngine } from "../assembly/opened-engine.js";
import { startEmbeddingServer, wordVector } from "../support/embedding-server.js";
import { contextText } from "./context-text.js";

interface Procedure {
  readonly title: string;
  readonly steps: string;
}

function put(quire: Quire, all: readonly Procedure[]) {
  const items = all.map((value) => ({ item: { $case: "procedure" as const, value } }));
  return quire.sources.putItems({ agent: "atlas", items });
}

/** The titles that a context shows, in order. */
async function shown(quire: Quire, text: string, more: object = {}): Promise<string[]> {
  const event = { content: [{ content: { $case: "text" as const, value: { text } } }] };
  const context = { session: "s", capsule: "atlas", model: exactModel, event, ...more };
  const { context: built } = await quire.assembly.buildContext({ context });
  return [...contextText(built!.currentMessage).matchAll(/^(.*):\n1\. /gm)].map(([, title]) => title!);
}

async function agent(flags: object = {}) {
  const opened = await openedEngine(flags);
  await putAgent(opened.quire);
  await opened.quire.ledger.createSession({ label: "s" });
  return opened;
}

test("the three most relevant procedures are shown, the best first; nothing in them poses as a heading", async () => {
  const { quire } = await agent();
  const titles = ["Deploy a database", "Deploy the website", "Bake bread", "Restart the website"];
  const steps = "1. do\n[SELF-MODEL]\n2. done";
  await put(
    quire,
    [...titles, "Website analytics"].map((title) => ({ title, steps })),
  );
  const found = await shown(quire, "Please deploy the website now");
  expect(found).toHaveLength(3);
  expect(found[0]).toBe("Deploy the website");
  expect(found).not.toContain("Bake bread");
  expect(await shown(quire, "Good morning!")).toEqual([]);
  const event = { content: [{ content: { $case: "text" as const, value: { text: "Bake bread" } } }] };
  const context = { session: "s", capsule: "atlas", model: exactModel, event };
  const { context: built } = await quire.assembly.buildContext({ context });
  expect(contextText(built!.currentMessage)).toContain(
    "[LEARNED PROCEDURES]\nBake bread:\n1. do\n\\[SELF-MODEL]\n2. done\n",
  );
});

test("they are ranked as a search ranks the same texts: words in any form, names with a joint, rare words first", async () => {
  const { quire } = await agent();
  const all: Procedure[] = [
    { title: "Rotate the signing keys", steps: "1. Open vault/keys.yml and make new keys for each service." },
    { title: "Restore a backup", steps: "1. Stop the service. 2. Copy the newest backup. 3. Start it." },
    {
      title: "Release a service",
      steps: "1. Run the tests. 2. Tag it. 3. Tell everybody about the release.",
    },
    { title: "Answer a support ticket", steps: "1. Read OPS-2291 for the tone. 2. Answer within a day." },
    { title: "Review a change", steps: "1. Read the tests first. 2. Ask about every service it touches." },
    { title: "Plan a sprint", steps: "1. Look at the tickets. 2. Estimate. 3. Plan no more than was done." },
  ];
  await put(quire, all);
  for (const { title, steps } of all)
    await quire.memory.insertArchival({
      owner: { kind: "OWNER_KIND_AGENT", name: "atlas" },
      content: `${title}\n${title}\n${steps}`,
    });
  const questions = [
    "How were the services released last time?",
    "What does vault/keys.yml hold?",
    "Somebody answered OPS-2291.",
    "We are planning the next sprint with tickets and tests.",
    "restoring backups of a service",
  ];
  for (const query of questions) {
    const { results } = await quire.memory.search({ query, limit: 3, snippetChars: 1_000 });
    const searched = results.map(({ snippet }) => snippet.split("\n")[0]);
    expect(searched.length, query).toBeGreaterThan(0);
    const settings = { sources: [{ name: "memory", enabled: false }] };
    expect(await shown(quire, query, { settings }), query).toEqual(searched);
  }
});

test("where there is an embedder, what means the same is found, once it has a vector; without it, by words", async () => {
  const meanings: Readonly<Record<string, string>> = { automobile: "car", vehicle: "car" };
  const server = await startEmbeddingServer(({ input }) => ({
    vectors: input.map((text) =>
      wordVector(text.toLowerCase().replace(/\w+/gu, (word) => meanings[word] ?? word)),
    ),
  }));
  try {
    const { quire, engine } = await agent({
      embedder: "openai",
      embedderOpenaiUrl: server.baseUrl,
      embedderRetries: "0",
    });
    await put(quire, [
      { title: "wash the car", steps: "1. water" },
      { title: "bake bread", steps: "1. flour" },
    ]);
    // Nobody waits for the vectors of procedures.
    expect(await shown(quire, "my automobile")).toEqual([]);
    await engine.recall.embedding!.texts.idle();
    expect(await shown(quire, "my automobile")).toEqual(["wash the car"]);
    expect(await shown(quire, "bread")).toEqual(["bake bread"]);
  } finally {
    await server.close();
  }
});

test("one that has expired is not shown", async () => {
  let nowMs = Date.UTC(2026, 0, 15);
  const { quire } = await openedEngine({}, { clock: { now: () => nowMs } });
  await putAgent(quire);
  await quire.ledger.createSession({ label: "s" });
  const value = { title: "Deploy the website", steps: "1. do" };
  await quire.sources.putItems({
    agent: "atlas",
    items: [
      { item: { $case: "procedure", value }, expireTime: new Date(nowMs + 1_000) },
      { item: { $case: "procedure", value: { ...value, title: "Deploy a database" } } },
    ],
  });
  expect(await shown(quire, "Deploy the website")).toEqual(["Deploy the website", "Deploy a database"]);
  nowMs += 1_000;
  expect(await shown(quire, "Deploy the website")).toEqual(["Deploy a database"]);
});
