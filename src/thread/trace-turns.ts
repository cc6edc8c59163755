import { type Message, MessageRole } from "../domain/message.js";
import { pausing } from "../domain/pausing.js";
import { countedTokens } from "../domain/token-units.js";
import { bytesOf } from "./history-bytes.js";
import { decodeMessages } from "./message-codec.js";
import { opensOrAnswers } from "./message-index.js";
import { type ItemChanges, OpenItems } from "./open-items.js";
import type { ShownTurn } from "./shown-turn.js";
import type { TracedMessage, TracedTurn } from "./traced-turn.js";
import type { MessageFacts } from "./turn-facts.js";
import { unansweredTokens } from "./unanswered.js";

/** Follows calls and approvals through turns, oldest first. */
export async function traceTurns(
  oldestFirst: readonly ShownTurn[],
  clean: boolean,
  signal?: AbortSignal,
): Promise<TracedTurn[]> {
  const items = new OpenItems();
  const dead: string[][] = oldestFirst.map(() => []);
  const messages: TracedMessage[][] = [];
  const pause = pausing(signal);
  for (const [index, turn] of oldestFirst.entries()) {
    const traced: TracedMessage[] = [];
    for (const facts of turn.facts.messages) {
      const role = facts.role === "?" ? "U" : facts.role;
      if (role === "S") {
        traced.push({ role, tokens: countedTokens(0), opens: [], closes: [] });
        continue;
      }
      if (opensOrAnswers(facts)) await pause();
      const { opened, closed, givenUp } = follow(items, turn, facts);
      if (index > 0) dead[index - 1]!.push(...givenUp);
      const tokens = clean ? facts.cleanTokens : facts.sentTokens;
      traced.push({ role, tokens, opens: opened, closes: closed });
    }
    messages.push(traced);
  }
  return oldestFirst.map((turn, index) => ({
    messages: messages[index]!,
    from: turn.from,
    extraTokens: unansweredTokens(turn),
    extraMessages: turn.unanswered.length > 0 ? 1 : 0,
    dead: dead[index]!,
  }));
}

/** Only a message with calls or answers is decoded. */
function follow(items: OpenItems, turn: ShownTurn, facts: MessageFacts): ItemChanges {
  if (opensOrAnswers(facts)) return items.follow(decodeMessages(bytesOf(turn, facts))[0]!);
  return items.follow(facts.role === "A" ? assistantWords : userWords);
}

const words: Pick<Message, "parts"> = { parts: [{ content: { $case: "text", value: { text: "" } } }] };
const assistantWords = { ...words, role: MessageRole.ASSISTANT };
const userWords = { ...words, role: MessageRole.USER };
