import { describe, expect, test } from "vitest";
import { CompactionTrigger } from "../../src/contract/gen/quire/v1/compaction.js";
import { CompressionStrategy } from "../../src/contract/gen/quire/v1/context_settings.js";
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
  const { quire, engine } = await serveFolder(tempFolder());
  const persona = { corePrompt: `You are Atlas. ${hindi}`, knobs: { intelligenceLevel: 9 }, ...more };
  await quire.capsules.putCapsule({ name: "atlas", body: { persona } });
  await quire.ledger.createSession({ label: "desk" });
  const assemble = (context: PartialContext = {}) => {
    const event = { content: [{ content: { $case: "text" as const, value: { text: hindi } } }] };
    const request = { session: "desk", capsule: "atlas", tools: [search], event, ...context };
    return fold(quire.assembly.assemble({ context: request }));
  };
  /** A turn that answers to an assembly. */
  const answer = async (assemblyId: string, ...messages: Message[]) => {
    const { session } = await quire.ledger.getSession({ session: "desk" });
    const parentTurnId = session!.headTurnId;
    const isOpen = messages.at(-1)!.parts.some(({ content }) => content?.$case === "toolCall");
    const status = isOpen ? TurnStatus.AWAITING : TurnStatus.COMPLETED;
    await quire.ledger.recordTurn({ session: "desk", parentTurnId, messages, status, assemblyId });
  };
  const turn = (...messages: Message[]) => answer("", ...messages);
  return { quire, engine, assemble, turn, answer };
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
    for (const compressionStrategy of [CompressionStrategy.WINDOW, CompressionStrategy.SUMMARY]) {
      const sent = await assemble({ model: "gpt-4", settings: { compressionStrategy } });
      expect(sent.layer.compactionId === "").toBe(compressionStrategy === CompressionStrategy.WINDOW);
      const { available, used } = sent.completed.budget!;
      expect(used!.history).toBe(tokensOf(sent.history));
      expect(used!.total).toBeLessThanOrEqual(available);
      expect(sent.layer.turns).toBeGreaterThan(0);
      const replayed = await quire.assembly.replayContext({ assemblyId: sent.completed.assemblyId });
      expect(replayed.context!.history).toEqual(sent.history);
    }
  });

  test("when a compaction is prepared in advance: it is there before history stops to fit, and then fits", async () => {
    const { assemble, answer, engine } = await openDesk();
    const prepared = () => engine.database.reader.compaction.count();
    let sent = await assemble({ model: "gpt-4" });
    const { available } = sent.completed.budget!;
    const goOn = async () => {
      await answer(sent.completed.assemblyId!, user(hindi.repeat(6)), assistant(hindi.repeat(2)));
      await engine.assembly.compactor.idle();
    };
    while ((await prepared()) === 0) {
      await goOn();
      // What is dropped now would have been compacted by an assembly that writes.
      expect((await assemble({ model: "gpt-4", dryRun: true })).layer.droppedTurns).toBe(0);
      sent = await assemble({ model: "gpt-4" });
    }
    while (sent.compaction.length === 0) {
      await goOn();
      sent = await assemble({ model: "gpt-4" });
    }
    expect(sent.compaction).toMatchObject([
      { $case: "finished", value: { trigger: CompactionTrigger.BACKGROUND } },
    ]);
    expect(sent.completed.budget!.used!.history).toBe(tokensOf(sent.history));
    expect(sent.completed.budget!.used!.total).toBeLessThanOrEqual(available);
    expect(sent.layer.droppedTurns).toBe(0);
    await engine.assembly.compactor.idle();
  });

  test("when a context was refused as too long: what is compacted then is at 40 % by the model's own count", async () => {
    const { assemble, turn, quire } = await openDesk();
    for (let index = 0; index < 8; index++) await turn(user(hindi.repeat(6)), assistant(hindi.repeat(2)));
    const refused = await assemble({ model: "gpt-4" });
    expect(refused.layer.droppedTurns).toBe(0);
    const { compaction } = await quire.assembly.reportOverflow({ assemblyId: refused.completed.assemblyId });
    const after = await assemble({ model: "gpt-4" });
    expect(after.layer.compactionId).toBe(compaction!.id);
    const { available, used } = after.completed.budget!;
    expect(used!.total).toBeLessThanOrEqual(available * 0.4);
    // The record is in o200k tokens, as the contract says.
    const o200k = refused.history.reduce((sum, message) => sum + message.o200kTokens + overhead, 0);
    expect(compaction!.tokensBefore).toBe(o200k);
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
    expect(sent.layer.elisionCount + sent.layer.splitMessageIndex).toBeGreaterThan(0);
    expect(sent.completed.budget!.used!.history).toBe(tokensOf(sent.history));
    const replayed = await quire.assembly.replayContext({ assemblyId: sent.completed.assemblyId });
    expect(replayed.context!.history).toEqual(sent.history);
  });
});
