import { afterAll, describe, expect, test } from "vitest";
import type { Quire } from "../../src/index.js";
import { bothDatabases } from "../assembly/both-databases.js";
import { asEntropy, asFlux, entropy, named, putBlock, setText, textOf } from "../memory/memory-quire.js";
import { assistant, system, toolCalls, toolResults, user } from "../support/messages.js";
import { type Postgres, startPostgres } from "../support/postgres.js";

const postgres: Postgres | undefined = await startPostgres();
afterAll(() => postgres?.stop());

async function say(quire: Quire, session: string, question: string, answer: string, more = {}) {
  const { turn } = await quire.ledger.recordTurn({
    session,
    messages: [user(question), assistant(answer)],
    ...more,
  });
  return turn!;
}

async function found(quire: Quire, query: string, more = {}): Promise<string[]> {
  const { results } = await quire.memory.search({ query, ...more });
  return results.map(({ snippet }) => snippet);
}

describe.each(bothDatabases(postgres))("search: $name", ({ isMissing, open }) => {
  test("finds blocks, archival entries and messages right after they were written, and says why", async () => {
    if (isMissing) return;
    const { quire } = await open();
    await putBlock(quire, "garden", textOf, [setText("The tulips need water on Mondays.")]);
    await quire.memory.insertArchival({ owner: entropy, content: "Ann grows tulips behind the shed." });
    await quire.ledger.createSession({ label: "talk", defaults: { capsule: "entropy" } });
    await say(quire, "talk", "Which flowers do I like?", "You told me that you love tulips most.");
    const { results, mode, pending } = await quire.memory.search({ query: "tulip", actor: asEntropy });
    expect(new Set(results.map(({ content }) => content))).toEqual(
      new Set(["SEARCH_CONTENT_BLOCK", "SEARCH_CONTENT_ARCHIVAL", "SEARCH_CONTENT_MESSAGE"]),
    );
    expect(mode).toBe("SEARCH_MODE_KEYWORD");
    expect(pending).toBe(0);
    const block = results.find(({ label }) => label === "garden")!;
    const [highlight] = block.highlights;
    expect(block.snippet.slice(highlight!.start, highlight!.start + highlight!.length)).toBe("tulips");
    expect(block.match!.terms).toEqual(["tulip"]);
    const question = results.find(({ snippet }) => snippet.startsWith("Which"))!;
    expect(question.match!).toMatchObject({ byNeighbours: true, terms: [] });
    expect(question.turnId).not.toBe("");
  });

  test("an agent finds its own and what is shared with it; deleted, changed, erased and revoked texts are gone at once", async () => {
    if (isMissing) return;
    const { quire } = await open();
    await putBlock(quire, "plans", textOf, [setText("Sail to Zanzibar in spring.")]);
    await putBlock(quire, "diary", textOf, [setText("Zanzibar was on my mind.")]);
    const { entry } = await quire.memory.insertArchival({ owner: entropy, content: "Zanzibar has cloves." });
    await quire.ledger.createSession({ label: "trip", defaults: { capsule: "entropy" } });
    await say(quire, "trip", "Tell me of Zanzibar.", "It is an island.");
    expect(await found(quire, "Zanzibar", { actor: asFlux })).toEqual([]);
    expect(await found(quire, "Zanzibar", { actor: asFlux, owner: entropy })).toEqual([]);
    await expect(quire.memory.search({ query: "x", actor: asFlux, session: "trip" })).rejects.toMatchObject({
      reason: "SESSION_NOT_FOUND",
    });
    await quire.memory.shareBlock({
      block: named("plans"),
      agent: "flux",
      permission: "BLOCK_PERMISSION_READ_ONLY",
    });
    expect(await found(quire, "Zanzibar", { actor: asFlux })).toEqual(["Sail to Zanzibar in spring."]);
    await quire.memory.unshareBlock({ block: named("plans"), agent: "flux" });
    expect(await found(quire, "Zanzibar", { actor: asFlux })).toEqual([]);
    expect(await found(quire, "Zanzibar", { actor: asEntropy })).toHaveLength(5);
    await quire.memory.updateBlock({ block: named("plans"), operations: [setText("Stay home.")] as never });
    await quire.memory.deleteBlock({ block: named("diary") });
    await quire.memory.deleteArchival({ id: entry!.id });
    expect(await found(quire, "Zanzibar", { actor: asEntropy })).toEqual([
      "Tell me of Zanzibar.",
      "It is an island.",
    ]);
    await quire.ledger.deleteSession({ session: "trip" });
    expect(await found(quire, "Zanzibar", { actor: asEntropy })).toEqual([]);
    expect(await found(quire, "Stay home")).toEqual(["Stay home."]);
  });

  test("a fork finds what it shares with its origin, and nothing that either said since", async () => {
    if (isMissing) return;
    const { quire } = await open();
    await quire.ledger.createSession({ label: "origin" });
    const shared = await say(quire, "origin", "We sell apples.", "Noted.");
    await quire.ledger.forkSession({ at: { $case: "turnId", value: shared.id }, label: "fork" });
    await say(quire, "origin", "We sell apples and pears.", "Noted, pears.");
    await say(quire, "fork", "We sell apples and plums.", "Noted, plums.");
    const origin = await found(quire, "apples", { session: "origin" });
    const fork = await found(quire, "apples", { session: "fork" });
    expect(origin).toContain("We sell apples.");
    expect(origin.join()).not.toContain("plums");
    expect(fork).toContain("We sell apples.");
    expect(fork.join()).not.toContain("pears");
  });

  test("paths, identifiers, parts of names, accents, Chinese and Japanese are found", async () => {
    if (isMissing) return;
    const { quire } = await open();
    const texts = [
      "write_file src/recall/search/partition-table.ts",
      "class HttpRequestParser handles it",
      "Ticket ABC-1234 was closed by zoë@example.com",
      "我们明天去北京大学参观",
      "東京でラーメンを食べました",
      "The café opened in Málaga",
      "user_profile_id is null in v2.10.3",
    ];
    for (const content of texts) await quire.memory.insertArchival({ owner: entropy, content });
    const best = async (query: string) => (await found(quire, query, { actor: asEntropy }))[0];
    expect(await best("partition-table.ts")).toBe(texts[0]);
    expect(await best("search/partition-table.ts")).toBe(texts[0]);
    expect(await best("request parser")).toBe(texts[1]);
    expect(await best("httprequestparser")).toBe(texts[1]);
    expect(await best("ABC-1234")).toBe(texts[2]);
    expect(await best("abc 1234")).toBe(texts[2]);
    expect(await best("北京大学")).toBe(texts[3]);
    expect(await best("ラーメン")).toBe(texts[4]);
    expect(await best("cafe malaga")).toBe(texts[5]);
    expect(await best("user_profile_id")).toBe(texts[6]);
    expect(await best("2.10.3")).toBe(texts[6]);
  });

  test("filters: contents, session, time, metadata, speaker, limit", async () => {
    if (isMissing) return;
    const { quire } = await open();
    const keep = (content: string, metadata: object) =>
      quire.memory.insertArchival({ owner: entropy, content, metadataJson: JSON.stringify(metadata) });
    await keep("The boat is red.", { time: "2023-05-08T10:00:00Z", speaker: "Ann", topic: ["boats"] });
    await keep("The boat is blue.", { time: "2024-05-08", speaker: "Bob", topic: "cars" });
    await keep("Carl: The boat is gone.", {});
    const boats = (more: object) => found(quire, "boat", { actor: asEntropy, ...more });
    expect(await boats({ speaker: "ann" })).toEqual(["The boat is red."]);
    expect(await boats({ speaker: "Carl" })).toEqual(["Carl: The boat is gone."]);
    expect(await boats({ metadata: { topic: "boats" } })).toEqual(["The boat is red."]);
    expect(await boats({ before: new Date("2024-01-01") })).toEqual(["The boat is red."]);
    expect(await boats({ after: new Date("2024-01-01"), before: new Date("2025-01-01") })).toEqual([
      "The boat is blue.",
    ]);
    expect(await boats({ limit: 2 })).toHaveLength(2);
    expect(await boats({ contents: ["SEARCH_CONTENT_MESSAGE"] })).toEqual([]);
    const [first] = (await quire.memory.search({ query: "What was the boat like in May 2024?" })).results;
    expect(first!.snippet).toBe("The boat is blue.");
    expect(first!.match!.date).toBe(1);
  });

  test("tool calls and results are found; instructions and failed turns are not", async () => {
    if (isMissing) return;
    const { quire } = await open();
    await quire.ledger.createSession({ label: "work" });
    await quire.ledger.recordTurn({
      session: "work",
      messages: [
        system("quokka rules"),
        user("Do it."),
        toolCalls("wombat"),
        toolResults("wombat"),
        assistant("Done."),
      ],
    });
    expect((await found(quire, "wombat")).slice(0, 2).sort()).toEqual([
      "result of wombat",
      'search {"q": "wombat"}',
    ]);
    expect(await found(quire, "quokka")).toEqual([]);
    const { turn } = await quire.ledger.beginTurn({ session: "work", messages: [user("axolotl")] });
    expect(await found(quire, "axolotl")).toEqual([]);
    await quire.ledger.completeTurn({
      turnId: turn!.id,
      status: "TURN_STATUS_COMPLETED",
      messages: [assistant("ok")],
    } as never);
    expect(await found(quire, "axolotl")).toContain("axolotl");
  });

  test("any text is a safe query", async () => {
    if (isMissing) return;
    const { quire } = await open();
    await quire.memory.insertArchival({ owner: entropy, content: 'He said "x-y" AND foo:bar OR NEAR(1).' });
    const hostile = [
      "",
      " ",
      "the of and",
      '"',
      "x-y",
      'foo:bar" OR terms:*',
      "NEAR(a, b) AND NOT (c",
      "*",
      "'; DROP TABLE search_documents; --",
      "\u0000\u0001\ud800 control",
      "a".repeat(1_000_000),
      "( ".repeat(100_000),
      "?[".repeat(100_000),
      "a_".repeat(200_000),
      "北".repeat(100_000),
      '{"a":'.repeat(10_000),
    ];
    for (const query of hostile) {
      const { results } = await quire.memory.search({
        query: query.replaceAll("\ud800", ""),
        actor: asEntropy,
      });
      expect(results.length).toBeLessThanOrEqual(1);
    }
    expect(await found(quire, "foo:bar")).toHaveLength(1);
    await expect(quire.memory.search({ query: "x", mode: "SEARCH_MODE_VECTOR" })).rejects.toMatchObject({
      reason: "INVALID_FIELD",
    });
  });
});
