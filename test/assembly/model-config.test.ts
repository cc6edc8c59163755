import { describe, expect, test } from "vitest";
import type { Message } from "../../src/contract/gen/quire/v1/message.js";
import { TurnStatus } from "../../src/contract/gen/quire/v1/turn.js";
import { countTokens } from "../../src/tokens/count-tokens.js";
import { assistant, toolCalls, user } from "../support/messages.js";
import { tempFolder } from "../support/temp-folder.js";
import type { PartialContext } from "./agent.js";
import { fold } from "./fold.js";
import { serveFolder } from "./served-desk.js";

/** What o200k has far fewer tokens for than cl100k. */
const hindi = "आपका ऑर्डर रास्ते में है और जल्द ही पहुँच जाएगा। ";
const search = { name: "search", description: `Looks for orders. ${hindi}`, inputSchemaJson: "{}" };

async function openDesk(more: object = {}) {
  const { quire } = await serveFolder(tempFolder());
  const persona = { corePrompt: `You are Atlas. ${hindi}`, knobs: { intelligenceLevel: 9 }, ...more };
  await quire.capsules.putCapsule({ name: "atlas", body: { persona } });
  await quire.ledger.createSession({ label: "desk" });
  const assemble = (context: PartialContext = {}) => {
    const event = { content: [{ content: { $case: "text" as const, value: { text: hindi } } }] };
    const request = { session: "desk", capsule: "atlas", tools: [search], event, ...context };
    return fold(quire.assembly.assemble({ context: request }));
  };
  const turn = async (...messages: Message[]) => {
    const { session } = await quire.ledger.getSession({ session: "desk" });
    const isOpen = messages.at(-1)!.parts.some(({ content }) => content?.$case === "toolCall");
    const status = isOpen ? TurnStatus.AWAITING : TurnStatus.COMPLETED;
    await quire.ledger.recordTurn({ session: "desk", parentTurnId: session!.headTurnId, messages, status });
  };
  return { quire, assemble, turn };
}

const count = (text: string) => countTokens(text, "cl100k_base");
const overhead = 4;

function tokensOf(messages: readonly Message[]): number {
  const texts = (message: Message) =>
    [...message.parts, ...message.contextParts].flatMap(({ content }) => {
      if (content?.$case === "text") return [content.value.text];
      if (content?.$case === "toolCall") return [content.value.name, content.value.argumentsJson];
      if (content?.$case !== "toolResult") return [];
      return content.value.content.flatMap(({ content: piece }) =>
        piece?.$case === "text" ? [piece.value.text] : [],
      );
    });
  return messages.reduce(
    (sum, message) => sum + overhead + texts(message).reduce((total, text) => total + count(text), 0),
    0,
  );
}

describe("the model config", () => {
  test("carries the capsule's resource_budget and similarity_threshold", async () => {
    const { assemble } = await openDesk({
      knobs: { resourceBudget: 12 },
      memory: { recallLimit: 7, similarityThreshold: 0.25 },
    });
    const { resolved } = await assemble({ model: "gpt-4o" });
    expect(resolved.modelConfig).toMatchObject({
      recallLimit: 7,
      resourceBudget: 10,
      similarityThreshold: 0.25,
    });
  });

  test("leaves out what the capsule does not say", async () => {
    const { quire } = await openDesk();
    const context = {
      session: "desk",
      capsule: "atlas",
      event: { content: [{ content: { $case: "text" as const, value: { text: "?" } } }] },
    };
    const built = await quire.assembly.buildContext({ context });
    expect(built.context!.modelConfig).toMatchObject({
      resourceBudget: undefined,
      similarityThreshold: undefined,
    });
  });
});

describe("a model with a date in its name", () => {
  test.each(["gpt-4o-2024-08-06", "gpt-4o-20240806"])("%s is the model without it", async (model) => {
    const { assemble } = await openDesk();
    const { resolved, completed } = await assemble({ model });
    expect(resolved.budget).toMatchObject({ modelLimit: 128_000, exact: true, vocabulary: "o200k_base" });
    expect(completed.warnings).toEqual([]);
  });
});

describe("a model of cl100k_base is counted exactly", () => {
  test("in CountTokens", async () => {
    const { quire } = await openDesk();
    const answer = await quire.assembly.countTokens({ texts: [hindi, "hello"], model: "gpt-4-0613" });
    expect(answer).toMatchObject({
      tokens: [count(hindi), count("hello")],
      exact: true,
      vocabulary: "cl100k_base",
    });
    expect(count(hindi)).toBeGreaterThan(2 * countTokens(hindi, "o200k_base"));
  });

  test("in every layer of a context, and beside a model of another vocabulary", async () => {
    const { assemble, turn } = await openDesk();
    await turn(user(hindi.repeat(3)), assistant(hindi));
    await turn(user("And now?"), toolCalls("call"));
    for (let round = 0; round < 2; round++) {
      const { system, history, current, completed } = await assemble({ model: "gpt-4" });
      expect(completed.budget).toMatchObject({
        vocabulary: "cl100k_base",
        exact: true,
        ratio: 1,
        margin: 0,
        used: {
          systemPrompt: count(system.text),
          tools: count(`${search.name}\n${search.description}\n${search.inputSchemaJson}`),
          history: tokensOf(history),
          event: tokensOf([current!]),
        },
      });
      const other = await assemble({ model: "gpt-4o" });
      expect(other.completed.budget!.used!.systemPrompt).toBe(countTokens(system.text, "o200k_base"));
      expect(other.completed.budget!.used!.history).toBeLessThan(completed.budget!.used!.history);
    }
  });

  test("when history is cut and compacted: what is sent fits by the model's own count", async () => {
    const { assemble, turn, quire } = await openDesk();
    for (let index = 0; index < 12; index++) await turn(user(hindi.repeat(12)), assistant(hindi.repeat(4)));
    for (const strategy of ["window", "truncate"]) {
      const settings = { compaction: { strategy } } as PartialContext["settings"];
      const sent = await assemble({ model: "gpt-4", settings: settings! });
      const { available, used } = sent.completed.budget!;
      expect(used!.history).toBe(tokensOf(sent.history));
      expect(used!.total).toBeLessThanOrEqual(available);
      expect(sent.layer.turns).toBeGreaterThan(0);
      const replayed = await quire.assembly.replayContext({ assemblyId: sent.completed.assemblyId });
      expect(replayed.context!.history).toEqual(sent.history);
    }
  });

  test("when a turn is split or its results are elided, and replayed", async () => {
    const { assemble, turn, quire } = await openDesk();
    const result = (callId: string): Message => ({
      ...user(""),
      role: "MESSAGE_ROLE_TOOL",
      parts: [
        {
          content: {
            $case: "toolResult",
            value: {
              callId,
              content: [{ content: { $case: "text", value: { text: hindi.repeat(90) } } }],
              isError: false,
            },
          },
        },
      ],
    });
    await turn(user(hindi), toolCalls("a", "b"), {
      ...result("a"),
      parts: ["a", "b"].map((id) => result(id).parts[0]!),
    });
    const sent = await assemble({ model: "gpt-4" });
    expect(sent.layer.elidedResults + sent.layer.splitMessageIndex).toBeGreaterThan(0);
    expect(sent.completed.budget!.used!.history).toBe(tokensOf(sent.history));
    const replayed = await quire.assembly.replayContext({ assemblyId: sent.completed.assemblyId });
    expect(replayed.context!.history).toEqual(sent.history);
  });
});
