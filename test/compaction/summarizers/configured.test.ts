import { afterEach, describe, expect, test } from "vitest";
import { configuredSummarizers } from "../../../src/compaction/summarizers/configured.js";
import { loadConfig } from "../../../src/config/load-config.js";
import { defaultPromptTexts } from "../../../src/domain/prompt-texts.js";
import { chat, count } from "../../support/folded-turns.js";
import { type ModelServer, startModelServer } from "../../support/model-server.js";

const servers: ModelServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});
const task = { previousSummary: "", turns: chat(40), instructions: "", maxTokens: 100, mustKeep: [] };

describe("configured: which summarizers there are", () => {
  test("none without a model, whatever else is set", () => {
    expect(configuredSummarizers(loadConfig({ env: {} }), count).size).toBe(0);
    const env = { QUIRE_SUMMARIZER_OPENAI_KEY: "k", QUIRE_SUMMARIZER_ANTHROPIC_URL: "http://x" };
    expect(configuredSummarizers(loadConfig({ env }), count).size).toBe(0);
  });

  test("one for each model, by the name of its protocol", () => {
    const env = { QUIRE_SUMMARIZER_OPENAI_MODEL: "gpt-x", QUIRE_SUMMARIZER_ANTHROPIC_MODEL: "claude-x" };
    const summarizers = configuredSummarizers(loadConfig({ env }), count);
    expect([...summarizers].map(([name, { model }]) => [name, model])).toEqual([
      ["openai", "gpt-x"],
      ["anthropic", "claude-x"],
    ]);
  });

  test.each(["openai", "anthropic"] as const)("%s works as the settings say", async (protocol) => {
    const server = await startModelServer((_, index) => (index === 0 ? { status: 500 } : { text: "fine" }));
    servers.push(server);
    const prefix = `QUIRE_SUMMARIZER_${protocol.toUpperCase()}`;
    const env = {
      [`${prefix}_URL`]: server.baseUrl(protocol),
      [`${prefix}_MODEL`]: "m-1",
      [`${prefix}_KEY`]: "k-1",
      QUIRE_SUMMARIZER_RETRIES: "1",
      QUIRE_SUMMARIZER_MAX_INPUT_TOKENS: "2500",
    };
    const summarizer = configuredSummarizers(loadConfig({ env }), count).get(protocol)!;
    const texts = { ...defaultPromptTexts, summary: "Be brief." };
    await summarizer.summarize({ ...task, texts }, new AbortController().signal);
    expect(server.requests.length).toBeGreaterThan(2);
    for (const request of server.requests) {
      expect(request).toMatchObject({ protocol, model: "m-1" });
      expect(request.keys.bearer).toBe("k-1");
      expect(request.system).toMatch(/^Be brief\./);
    }
  });

  test.each([
    "openai",
    "anthropic",
  ] as const)("%s takes no more of a conversation at once than a chunk", async (protocol) => {
    const server = await startModelServer(() => ({ text: "fine" }));
    servers.push(server);
    const prefix = `QUIRE_SUMMARIZER_${protocol.toUpperCase()}`;
    const env = { [`${prefix}_URL`]: server.baseUrl(protocol), [`${prefix}_MODEL`]: "m-1" };
    const summarizer = configuredSummarizers(loadConfig({ env }), count, 300).get(protocol)!;
    await summarizer.summarize(task, new AbortController().signal);
    expect(server.requests.length).toBeGreaterThan(5);
    for (const { user } of server.requests) {
      const chunk = /<conversation-\w+>\n([\s\S]*)\n<\/conversation/.exec(user)?.[1] ?? "";
      expect(count(chunk)).toBeLessThanOrEqual(300);
    }
  });

  test("what it makes shows no key", () => {
    const env = { QUIRE_SUMMARIZER_OPENAI_MODEL: "m", QUIRE_SUMMARIZER_OPENAI_KEY: "sk-secret" };
    const summarizer = configuredSummarizers(loadConfig({ env }), count).get("openai");
    expect(JSON.stringify(summarizer)).not.toContain("sk-secret");
  });
});
