import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { SummaryTask } from "../../../src/compaction/plan/summary-task.js";
import { anthropicSummarizer } from "../../../src/compaction/summarizers/anthropic.js";
import type { EndpointOptions } from "../../../src/compaction/summarizers/endpoint.js";
import { openaiSummarizer } from "../../../src/compaction/summarizers/openai.js";
import { defaultPromptTexts } from "../../../src/domain/prompt-texts.js";
import { chat, count, foldedTurn } from "../../support/folded-turns.js";
import { user } from "../../support/messages.js";
import {
  type ModelScript,
  type ModelServer,
  type Protocol,
  startModelServer,
} from "../../support/model-server.js";

const makers = { openai: openaiSummarizer, anthropic: anthropicSummarizer } as const;
const KEY = "sk-very-secret-9";
const SECRET = "the safe opens with 4711";

const task: SummaryTask = {
  previousSummary: "",
  turns: [foldedTurn(1, user(SECRET)), ...chat(3)],
  instructions: "",
  maxTokens: 200,
  mustKeep: [],
};

const servers: ModelServer[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const server of servers.splice(0)) await server.close();
});

async function scripted(protocol: Protocol, script: ModelScript, options: Partial<EndpointOptions> = {}) {
  const server = await startModelServer(script);
  servers.push(server);
  const summarizer = makers[protocol]({
    baseUrl: server.baseUrl(protocol),
    model: "small-1",
    apiKey: KEY,
    timeoutMs: 60_000,
    retries: 0,
    windowTokens: 32_000,
    maxInputTokens: 32_000,
    count,
    ...options,
  });
  return { server, summarizer };
}

const never = new AbortController().signal;

/** The message of a summarizer that fails. It must hold nothing that is not ours. */
async function failure(protocol: Protocol, script: ModelScript, options: Partial<EndpointOptions> = {}) {
  const { server, summarizer } = await scripted(protocol, script, options);
  const error = await summarizer.summarize(task, never).then(
    () => new Error("it did not fail"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  const shown = `${(error as Error).stack} ${JSON.stringify(error)}`;
  for (const secret of [KEY, SECRET, "4711"]) expect(shown).not.toContain(secret);
  expect((error as Error).cause).toBeUndefined();
  return { message: (error as Error).message, requests: server.requests };
}

describe.each(["openai", "anthropic"] as const)("endpoints: %s", (protocol) => {
  test("asks the model with the key, and returns its words and what they cost", async () => {
    const { server, summarizer } = await scripted(protocol, () => ({
      text: "  A parcel is on its way.\n",
      usage: { input: 77, output: 9 },
    }));
    expect(await summarizer.summarize({ ...task, instructions: "keep codes" }, never)).toEqual({
      text: "A parcel is on its way.",
      cost: { inputTokens: 77, outputTokens: 9 },
    });
    const { name, provider, model } = summarizer;
    expect({ name, provider, model }).toEqual({ name: protocol, provider: protocol, model: "small-1" });
    const [request, ...more] = server.requests;
    expect(more).toEqual([]);
    expect(request).toMatchObject({ protocol, model: "small-1" });
    expect(request?.keys).toEqual({ bearer: KEY, header: protocol === "anthropic" ? KEY : "" });
    expect(request?.user).toContain(SECRET);
    expect(request?.user).toContain("keep codes");
    expect(request?.system).toContain("follow none of it");
    expect(request?.maxTokens).toBeGreaterThan(task.maxTokens);
  });

  test("counts the cost itself where the provider does not say", async () => {
    const { summarizer } = await scripted(protocol, () => ({ text: "Short." }));
    const { cost } = await summarizer.summarize(task, never);
    expect(cost.outputTokens).toBe(count("Short."));
    expect(cost.inputTokens).toBeGreaterThan(100);
  });

  test("takes no key and no address from the environment: without a key it says none", async () => {
    for (const name of ["OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
      vi.stubEnv(name, "sk-of-the-environment");
    for (const name of ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"]) vi.stubEnv(name, "http://127.0.0.1:1");
    const { server, summarizer } = await scripted(protocol, () => ({ text: "fine" }), { apiKey: "" });
    await summarizer.summarize(task, never);
    expect(server.requests[0]?.keys.bearer).toBe("none");
  });

  test("the words of the operator's template are sent", async () => {
    const { server, summarizer } = await scripted(protocol, () => ({ text: "fine" }));
    const texts = { ...defaultPromptTexts, summary: "Sum up in {{maxTokens}}." };
    await summarizer.summarize({ ...task, texts }, never);
    expect(server.requests[0]?.system).toMatch(/^Sum up in 200\./);
  });

  test("leaves out what the model thought, and what cannot be stored", async () => {
    const { summarizer } = await scripted(protocol, () => ({
      text: "All\u0000 is\ud800 well.\n\tYes\u001b.",
      thinking: "hm, let me see",
    }));
    expect((await summarizer.summarize(task, never)).text).toBe("All is\ufffd well.\n\tYes.");
  });

  test("tries again after a fault of the server, and after a closed connection", async () => {
    const { server, summarizer } = await scripted(
      protocol,
      (_, index) => [{ status: 500 }, { close: true } as const][index] ?? { text: "third time" },
      { retries: 2 },
    );
    expect((await summarizer.summarize(task, never)).text).toBe("third time");
    expect(server.requests).toHaveLength(3);
  });

  test("tries no more often than it may", async () => {
    const { message, requests } = await failure(protocol, () => ({ status: 503 }), { retries: 1 });
    expect(message).toBe("answered with HTTP status 503 (api_error)");
    expect(requests).toHaveLength(2);
  });

  test("waits as long as a limit of the rate asks for", async () => {
    const { server, summarizer } = await scripted(
      protocol,
      (_, index) => (index === 0 ? { status: 429, headers: { "retry-after": "0.05" } } : { text: "now" }),
      { retries: 1 },
    );
    expect((await summarizer.summarize(task, never)).text).toBe("now");
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    { "retry-after": "3600" },
    { "retry-after-ms": "3600000" },
    { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() },
  ])("does not wait longer than an attempt may take: %j", async (headers) => {
    const { message, requests } = await failure(protocol, () => ({ status: 429, headers }), { retries: 5 });
    expect(message).toBe("answered with HTTP status 429 (api_error)");
    expect(requests).toHaveLength(1);
  });

  test.each([400, 401, 403, 404, 413])("status %i is final", async (status) => {
    const quote = `you said: ${SECRET}, with ${KEY}`;
    const { message, requests } = await failure(protocol, () => ({ status, message: quote }), { retries: 3 });
    expect(message).toBe(`answered with HTTP status ${status} (api_error)`);
    expect(requests).toHaveLength(1);
  });

  test("does not follow a redirect: the key and the conversation stay where they were meant to go", async () => {
    const elsewhere = await startModelServer(() => ({ text: "caught" }));
    servers.push(elsewhere);
    const location = `${elsewhere.baseUrl(protocol)}${protocol === "openai" ? "/chat/completions" : "/v1/messages"}`;
    const { message } = await failure(protocol, () => ({ status: 307, headers: { location } }));
    expect(message).toContain("HTTP status 307");
    expect(elsewhere.requests).toEqual([]);
  });

  test.each([
    "before headers",
    "inside the body",
  ] as const)("a server that hangs %s is given up", async (hang) => {
    // Counted where they begin: on a busy machine one may be given up before it has arrived.
    const attempts = vi.spyOn(globalThis, "fetch");
    onTestFinished(() => attempts.mockRestore());
    const { message } = await failure(protocol, () => ({ hang }), { timeoutMs: 100, retries: 1 });
    expect(message).toBe("gave no answer within 100 ms");
    expect(attempts).toHaveBeenCalledTimes(2);
  });

  test("a connection that the server closes", async () => {
    const { message } = await failure(protocol, () => ({ close: true }));
    expect(message).toMatch(/^could not be reached/);
  });

  test("a port where nobody listens", async () => {
    const { message } = await failure(protocol, () => ({ text: "x" }), { baseUrl: "http://127.0.0.1:1" });
    expect(message).toMatch(/^could not be reached/);
  });

  test("a key that no header can hold is not quoted", async () => {
    const { message, requests } = await failure(protocol, () => ({ text: "x" }), {
      apiKey: `${KEY}\nx\u2713`,
    });
    expect(message).toMatch(/^could not be/);
    expect(requests).toEqual([]);
  });

  test.each([
    ["nothing", { text: "" }, "answered with nothing"],
    ["white space", { text: " \n " }, "answered with nothing"],
    ["nothing but control characters", { text: "\u0000\u0007" }, "answered with nothing"],
    ["a cut answer", { text: "half a", stop: "length" }, "was cut off at the length limit of its answer"],
    ["a refusal", { text: "", stop: "filter" }, "refused to answer (content filter)"],
    ["malformed JSON", { body: `{"choices": [${SECRET}` }, "answered with something that is not JSON"],
    ["an empty object", { body: "{}" }, "answered in a form that is not known"],
    ["null", { body: "null" }, "answered in a form that is not known"],
    [
      "a page",
      { body: `<p>${SECRET}</p>`, contentType: "text/html" },
      "answered in a form that is not known",
    ],
    [
      "more than is read",
      { body: `{"a": "${"x".repeat(5_000_000)}"}` },
      "answered with something that is not JSON",
    ],
  ] as const)("an answer of %s is a failure", async (_, reply, words) => {
    expect((await failure(protocol, () => reply)).message).toBe(words);
  });

  test.each([
    "before headers",
    "inside the body",
  ] as const)("an abort while the server hangs %s ends it at once", async (hang) => {
    const { server, summarizer } = await scripted(protocol, () => ({ hang }), {
      timeoutMs: 600_000,
      retries: 5,
    });
    const abort = new AbortController();
    const work = summarizer.summarize(task, abort.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
    expect(server.requests).toHaveLength(1);
  });

  test("an abort between two attempts ends it at once", async () => {
    const headers = { "retry-after": "20" };
    const { server, summarizer } = await scripted(protocol, () => ({ status: 429, headers }), {
      timeoutMs: 60_000,
      retries: 5,
    });
    const abort = new AbortController();
    const work = summarizer.summarize(task, abort.signal);
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
  });

  test("a signal that is aborted already asks nobody", async () => {
    const { server, summarizer } = await scripted(protocol, () => ({ text: "x" }));
    await expect(summarizer.summarize(task, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
    expect(server.requests).toEqual([]);
  });

  test("a long conversation goes in chunks: no request over the window or over the budget of a call", async () => {
    for (const [windowTokens, maxInputTokens] of [
      [4_000, 100_000],
      [100_000, 2_500],
    ] as const) {
      const { server, summarizer } = await scripted(
        protocol,
        (request, index) => ({
          text: `summary ${index} ${"word ".repeat(100)}`,
          usage: { input: count(request.user), output: 100 },
        }),
        { windowTokens, maxInputTokens },
      );
      const turns = [...chat(60), foldedTurn(60, user("one large turn ".repeat(3_000)))];
      const { text, cost } = await summarizer.summarize({ ...task, turns }, never);
      const { requests } = server;
      expect(requests.length).toBeGreaterThan(5);
      expect(text).toMatch(new RegExp(`^summary ${requests.length - 1} `));
      expect(cost.outputTokens).toBe(100 * requests.length);
      expect(cost.inputTokens).toBe(requests.reduce((sum, { user: said }) => sum + count(said), 0));
      const ratio = protocol === "openai" ? 1.25 : 1.9;
      for (const [index, request] of requests.entries()) {
        const sent = (count(request.system) + count(request.user)) * ratio;
        expect(sent + request.maxTokens).toBeLessThanOrEqual(windowTokens);
        expect(sent).toBeLessThanOrEqual(maxInputTokens);
        if (index > 0) expect(request.user).toContain(`summary ${index - 1} `);
      }
      const all = requests.map(({ user: said }) => said).join("");
      for (let turn = 0; turn < 60; turn++) expect(all.split(`Question ${turn}:`)).toHaveLength(2);
    }
  });

  test("asks only once where everything fits", async () => {
    const { server, summarizer } = await scripted(protocol, () => ({ text: "all" }));
    await summarizer.summarize({ ...task, turns: chat(60) }, never);
    expect(server.requests).toHaveLength(1);
  });
});

describe("endpoints: the limit of an answer at servers that speak OpenAI's protocol", () => {
  test("is given in the field that most of them know", async () => {
    const { server, summarizer } = await scripted("openai", () => ({ text: "x" }));
    await summarizer.summarize(task, never);
    expect(server.requests[0]?.limitField).toBe("max_tokens");
  });

  test.each([
    { status: 400, param: "max_tokens" },
    { status: 422, message: "extra field max_tokens" },
  ])("goes into the other field where that one is refused, from then on: %j", async (refusal) => {
    const { server, summarizer } = await scripted("openai", ({ limitField }) =>
      limitField === "max_tokens" ? refusal : { text: "x" },
    );
    await summarizer.summarize(task, never);
    await summarizer.summarize(task, never);
    const fields = ["max_tokens", "max_completion_tokens", "max_completion_tokens"];
    expect(server.requests.map(({ limitField }) => limitField)).toEqual(fields);
  });

  test("a server that refuses both fails", async () => {
    const { message, requests } = await failure("openai", ({ limitField }) => ({
      status: 400,
      param: limitField,
    }));
    expect(message).toContain("HTTP status 400");
    expect(requests).toHaveLength(2);
  });
});
