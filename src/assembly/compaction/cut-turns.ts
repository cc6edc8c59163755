import { messageOverheadTokens } from "../../budget/token-scale.js";
import type { CutMessage, CutTurn } from "../../compaction/plan-cut.js";
import type { FoldedTurn } from "../../compaction/summarizer.js";
import { type Message, MessageRole } from "../../domain/message.js";
import { decodeMessages } from "../../ledger/message-codec.js";
import { bytesOf, emptyMessage, unansweredTokens, withoutContext } from "../history-bytes.js";
import type { WindowTurn } from "../thread-window.js";
import type { MessageFacts } from "../turn-facts.js";

const callsOrAnswers = 1 | 2 | 4 | 8;

/** What is open, and which approval is for which call: a call that is answered no longer needs its approval. */
class OpenItems {
  private readonly open = new Map<string, string>();

  /** Of a message, what it opens and closes; and what it gives up, if only answers may stand between a call and its result. */
  follow(message: Message): { opens: string[]; closes: string[]; givenUp: string[] } {
    const opens: string[] = [];
    const closes: string[] = [];
    for (const { content } of message.parts) {
      if (content?.$case === "toolCall") opens.push(`call ${content.value.callId}`);
      if (content?.$case === "approvalRequest") {
        const id = `approval ${content.value.approvalId}`;
        opens.push(id);
        this.open.set(id, `call ${content.value.callId}`);
      }
      if (content?.$case === "approvalAnswer") closes.push(`approval ${content.value.approvalId}`);
      if (content?.$case === "toolResult") {
        const call = `call ${content.value.callId}`;
        closes.push(call, ...[...this.open].flatMap(([id, forCall]) => (forCall === call ? [id] : [])));
      }
    }
    const isAnswer = message.role === MessageRole.TOOL || closes.length > 0;
    const givenUp = isAnswer ? [] : [...this.open.keys()];
    for (const id of [...closes, ...givenUp]) this.open.delete(id);
    for (const id of opens) if (!this.open.has(id)) this.open.set(id, "");
    return { opens, closes, givenUp };
  }
}

/** Turns as the cut of a compaction sees them, oldest first. */
export function cutTurns(oldestFirst: readonly WindowTurn[], clean: boolean): CutTurn[] {
  const items = new OpenItems();
  const dead: string[][] = oldestFirst.map(() => []);
  const messages = oldestFirst.map((turn, index) =>
    turn.facts.messages.map((facts): CutMessage => {
      const role = facts.role === "?" ? "U" : facts.role;
      if (role === "S") return { role, tokens: 0, opens: [], closes: [] };
      const tokens = clean ? facts.cleanTokens : facts.sentTokens;
      if ((facts.flags & callsOrAnswers) === 0) {
        const { givenUp } = items.follow({
          ...emptyMessage,
          role: role === "A" ? MessageRole.ASSISTANT : MessageRole.USER,
        });
        if (index > 0) dead[index - 1]!.push(...givenUp);
        return { role, tokens, opens: [], closes: [] };
      }
      const [message] = decodeMessages(bytesOf(turn, facts));
      const { opens, closes, givenUp } = items.follow(message!);
      if (index > 0) dead[index - 1]!.push(...givenUp);
      return { role, tokens, opens, closes };
    }),
  );
  return oldestFirst.map((turn, index) => ({
    messages: messages[index]!,
    from: turn.from,
    extraTokens: unansweredTokens(turn.unanswered.length),
    extraMessages: turn.unanswered.length > 0 ? 1 : 0,
    dead: dead[index]!,
  }));
}

/** The messages of a turn, or some of them, for a summary: without what was sent with them as context. */
export function foldedTurn(turn: WindowTurn, start = 0, end = turn.facts.messages.length): FoldedTurn {
  const folded = turn.facts.messages.slice(start, end).filter((facts) => facts.role !== "S");
  const messages = folded.flatMap((facts) => decodeMessages(bytesOf(turn, facts)).map(withoutContext));
  return {
    turnId: turn.stored.turnId,
    depth: turn.stored.depth,
    createdMs: messages[0]?.createTime?.getTime() ?? 0,
    messages,
    tokens: tokensOf(folded),
  };
}

function tokensOf(messages: readonly MessageFacts[]): number {
  return (
    messages.reduce((sum, { cleanTokens }) => sum + cleanTokens, 0) - messages.length * messageOverheadTokens
  );
}
