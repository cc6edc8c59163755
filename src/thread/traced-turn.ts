import type { CountedTokens } from "../domain/token-units.js";
import type { RoleLetter } from "./message-index.js";

/** A message with what it opens and answers. */
export interface TracedMessage {
  /** S is an operator's instruction, which history leaves out. */
  readonly role: Exclude<RoleLetter, "?">;
  readonly tokens: CountedTokens;
  /** The calls and approvals that it opens. */
  readonly opens: readonly string[];
  /** Those that it answers. */
  readonly closes: readonly string[];
}

/** A turn in which every call is followed to its answer. */
export interface TracedTurn {
  readonly messages: readonly TracedMessage[];
  /** How many messages of the turn are before these, in a summary already. */
  readonly from: number;
  /** What is sent with the turn beside its messages. */
  readonly extraTokens: CountedTokens;
  readonly extraMessages: number;
  /** Calls of the turn that nobody will answer: they hold nothing. */
  readonly dead: readonly string[];
}
