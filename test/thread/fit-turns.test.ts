import { describe, expect, onTestFinished, test } from "vitest";
import { Message, MessageRole } from "../../src/contract/gen/quire/v1/message.js";
import { textPart } from "../../src/domain/message.js";
import { defaultPromptTexts } from "../../src/domain/prompt-texts.js";
import { countedTokens } from "../../src/domain/token-units.js";
import { fitTurns } from "../../src/thread/fit-turns.js";
import type { FittedTurns } from "../../src/thread/marked-turns.js";
import { decodeMessages, encodeMessages } from "../../src/thread/message-codec.js";
import { messageOverheadTokens } from "../../src/thread/message-overhead.js";
import { countMessages } from "../../src/thread/message-text.js";
import { shownTurn } from "../../src/thread/shown-turn.js";
import { countedFacts } from "../../src/thread/turn-facts.js";
import { TokenCounter } from "../../src/tokens/token-counter.js";
import type { Vocabulary } from "../../src/tokens/vocabulary.js";
import { assistant, system, toolCalls, user } from "../support/messages.js";

function results(...sizes: readonly (readonly [callId: string, words: number])[]): Message {
  const parts = sizes.map(([callId, words]) => {
    const content = [textPart("слово word ".repeat(words))];
    return { content: { $case: "toolResult" as const, value: { callId, content, isError: false } } };
  });
  return Message.create({ role: MessageRole.TOOL, parts });
}

const loop: readonly Message[] = [
  { ...user("Look."), contextParts: [textPart("It is noon.")] },
  system("Be brief."),
  toolCalls("a"),
  results(["a", 600]),
  assistant("More."),
  toolCalls("b", "c", "d"),
  { ...results(["b", 20], ["c", 900]), contextParts: [textPart("Hurry.")] },
];

async function fitted(vocabulary: Vocabulary, clean: boolean, room: number): Promise<FittedTurns> {
  const counter = new TokenCounter();
  onTestFinished(() => counter.close());
  const counts = await countMessages(counter, loop);
  const stored = loop.map((message, index) => {
    const { parts, context } = counts[index]!;
    return { ...message, index, o200kTokens: parts, contextO200kTokens: context };
  });
  const { wire, indexJson } = encodeMessages(stored);
  const turn = { turnId: "turn", depth: 1, wires: [wire], indexes: [indexJson] };
  const facts = await countedFacts(counter, turn, vocabulary);
  const how = { vocabulary, texts: defaultPromptTexts, clean };
  const shown = shownTurn(turn, facts, undefined, how, ["d"], true);
  const tokens = countedTokens(room);
  return (await fitTurns(counter, [shown], { tokens, targetTokens: tokens, messages: 100 }, clean))!;
}

describe.each([
  "o200k_base",
  "cl100k_base",
] as const)("of a turn that was made to fit, counted with %s,", (vocabulary) => {
  test.each([
    { clean: true, room: 9_000, elided: 0 },
    { clean: false, room: 9_000, elided: 0 },
    { clean: true, room: 200, elided: 1 },
    { clean: false, room: 200, elided: 1 },
  ])("the messages cost what they say themselves: room $room, clean $clean", async ({
    clean,
    room,
    elided,
  }) => {
    const fit = await fitted(vocabulary, clean, room);
    expect(fit.elided).toHaveLength(elided);
    expect(fit.fit.splitIndex).toBeGreaterThan(0);
    const [turn] = fit.turns;
    const messages = fit.piecesOf(turn!).flatMap(decodeMessages);
    const isAnswer = ({ role }: Pick<Message, "role">) => role === MessageRole.ASSISTANT;
    expect(fit.messagesOf(turn!)).toEqual({
      turnId: "turn",
      o200kTokens: messages.map(
        ({ o200kTokens, contextO200kTokens }) => o200kTokens + contextO200kTokens + messageOverheadTokens,
      ),
      firstAnswer: messages.findIndex(isAnswer),
      lastAnswer: messages.findLastIndex(isAnswer),
    });
  });
});
