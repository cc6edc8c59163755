import type { Message } from "../../domain/message.js";
import { bytesOf, withoutContext } from "../../thread/history-bytes.js";
import { decodeMessages, encodeMessages } from "../../thread/message-codec.js";
import { messageOverheadTokens } from "../../thread/message-overhead.js";
import type { ShownTurn } from "../../thread/shown-turn.js";
import type { MessageFacts } from "../../thread/turn-facts.js";
import type { FoldedTurn } from "./summary-task.js";

/** A turn to fold, for a worker thread: bytes are cheaper to hand over than messages. */
export interface PackedFold {
  readonly turnId: string;
  readonly depth: number;
  /** When its first message was made, where that is not to be read from it. */
  readonly createdMs?: number;
  readonly tokens: number;
  readonly wire: Uint8Array;
}

/**
 * The messages of a turn, or some of them, for a summary: without system messages, and without what was sent with them as context. They
 * are decoded when they are first looked at.
 */
export class StoredFold implements FoldedTurn {
  readonly turnId: string;
  readonly depth: number;
  readonly tokens: number;
  private readonly turn: ShownTurn;
  private readonly folded: readonly MessageFacts[];
  private decoded: readonly Message[] | undefined;

  constructor(turn: ShownTurn, start = 0, end = turn.facts.messages.length) {
    this.turnId = turn.stored.turnId;
    this.depth = turn.stored.depth;
    this.turn = turn;
    this.folded = turn.facts.messages.slice(start, end).filter((facts) => facts.role !== "S");
    this.tokens = this.folded.reduce((sum, facts) => sum + facts.cleanTokens - messageOverheadTokens, 0);
  }

  get messages(): readonly Message[] {
    this.decoded ??= unpack(this.pack()).messages;
    return this.decoded;
  }

  get createdMs(): number {
    return this.messages[0]?.createTime?.getTime() ?? 0;
  }

  pack(): PackedFold {
    const { turnId, depth, tokens } = this;
    return {
      turnId,
      depth,
      tokens,
      wire: Buffer.concat(this.folded.map((facts) => bytesOf(this.turn, facts))),
    };
  }
}

export function pack(turn: FoldedTurn): PackedFold {
  if (turn instanceof StoredFold) return turn.pack();
  const { turnId, depth, createdMs, tokens, messages } = turn;
  return { turnId, depth, createdMs, tokens, wire: encodeMessages(messages).wire };
}

export function unpack({ turnId, depth, createdMs, tokens, wire }: PackedFold): FoldedTurn {
  const messages = decodeMessages(wire).map(withoutContext);
  return {
    turnId,
    depth,
    createdMs: createdMs ?? messages[0]?.createTime?.getTime() ?? 0,
    messages,
    tokens,
  };
}
