import type { CutMessage, CutTurn } from "../../compaction/plan-cut.js";
import { type Message, MessageRole } from "../../domain/message.js";
import { pausing } from "../../domain/pausing.js";
import { decodeMessages } from "../../ledger/message-codec.js";
import { bytesOf, emptyMessage, unansweredTokens } from "../history-bytes.js";
import type { WindowTurn } from "../thread-window.js";

const callsOrAnswers = 1 | 2 | 4 | 8;

/** What is open, and which approvals are for which call: a call that is answered no longer needs its approval. */
class OpenItems {
  private readonly open = new Set<string>();
  private readonly approvals = new Map<string, string[]>();

  /** Of a message, what it opens and closes; and what it gives up, if only answers may stand between a call and its result. */
  follow(message: Message): { opens: string[]; closes: string[]; givenUp: string[] } {
    const opens: string[] = [];
    const closes: string[] = [];
    for (const { content } of message.parts) {
      if (content?.$case === "toolCall") opens.push(`call ${content.value.callId}`);
      if (content?.$case === "approvalRequest") {
        const id = `approval ${content.value.approvalId}`;
        const call = `call ${content.value.callId}`;
        opens.push(id);
        this.open.add(id);
        this.approvals.set(call, [...(this.approvals.get(call) ?? []), id]);
      }
      if (content?.$case === "approvalAnswer") closes.push(`approval ${content.value.approvalId}`);
      if (content?.$case === "toolResult") {
        const call = `call ${content.value.callId}`;
        closes.push(call);
        for (const id of this.approvals.get(call) ?? []) if (this.open.has(id)) closes.push(id);
        this.approvals.delete(call);
      }
    }
    const isAnswer = message.role === MessageRole.TOOL || closes.length > 0;
    const givenUp = isAnswer ? [] : [...this.open];
    for (const id of [...closes, ...givenUp]) this.open.delete(id);
    if (givenUp.length > 0) this.approvals.clear();
    for (const id of opens) this.open.add(id);
    return { opens, closes, givenUp };
  }
}

/** Turns as the cut of a compaction sees them, oldest first. */
export async function cutTurns(
  oldestFirst: readonly WindowTurn[],
  clean: boolean,
  signal?: AbortSignal,
): Promise<CutTurn[]> {
  const items = new OpenItems();
  const dead: string[][] = oldestFirst.map(() => []);
  const messages: CutMessage[][] = [];
  const pause = pausing(signal);
  for (const [index, turn] of oldestFirst.entries()) {
    const cut: CutMessage[] = [];
    for (const facts of turn.facts.messages) {
      const role = facts.role === "?" ? "U" : facts.role;
      const tokens = clean ? facts.cleanTokens : facts.sentTokens;
      const hasItems = (facts.flags & callsOrAnswers) !== 0;
      if (role === "S") {
        cut.push({ role, tokens: 0, opens: [], closes: [] });
        continue;
      }
      if (hasItems) await pause();
      const message = hasItems
        ? decodeMessages(bytesOf(turn, facts))[0]!
        : { ...emptyMessage, role: role === "A" ? MessageRole.ASSISTANT : MessageRole.USER };
      const { opens, closes, givenUp } = items.follow(message);
      if (index > 0) for (const id of givenUp) dead[index - 1]!.push(id);
      cut.push({ role, tokens, opens, closes });
    }
    messages.push(cut);
  }
  return oldestFirst.map((turn, index) => ({
    messages: messages[index]!,
    from: turn.from,
    extraTokens: unansweredTokens(turn),
    extraMessages: turn.unanswered.length > 0 ? 1 : 0,
    dead: dead[index]!,
  }));
}
