import { defaultPromptTexts } from "../domain/prompt-texts.js";
import { countTokens } from "../tokens/count-tokens.js";
import { messageOverheadTokens } from "./message-overhead.js";
import { summaryCost } from "./summary-cost.js";

/** What the turns of a thread cost as contexts show them, in o200k tokens. */
export interface ThreadCounts {
  readonly threadTokens: bigint;
  /** How much of that is context that was sent with messages: CLEAN leaves it out. */
  readonly threadContextTokens: bigint;
  readonly threadMessages: bigint;
}

export const noCounts: ThreadCounts = { threadTokens: 0n, threadContextTokens: 0n, threadMessages: 0n };

/** A message as it is counted. */
export interface CountedMessage {
  readonly isSystem: boolean;
  readonly parts: number;
  readonly context: number;
}

/** What messages cost: SYSTEM ones are not shown. */
export function countsOf(messages: readonly CountedMessage[]): ThreadCounts {
  const spoken = messages.filter(({ isSystem }) => !isSystem);
  const context = spoken.reduce((sum, message) => sum + message.context, 0);
  const parts = spoken.reduce((sum, message) => sum + message.parts + messageOverheadTokens, 0);
  return {
    threadTokens: BigInt(parts + context),
    threadContextTokens: BigInt(context),
    threadMessages: BigInt(spoken.length),
  };
}

let noResultTokens: number | undefined;

/** What the results cost that are made up for calls which a turn gave up: they are charged to that turn, since the one before cannot change any more. */
export function madeUpCounts(calls: number): ThreadCounts {
  if (calls === 0) return noCounts;
  noResultTokens ??= countTokens(defaultPromptTexts["no-result"], "o200k_base");
  return {
    threadTokens: BigInt(calls * noResultTokens + messageOverheadTokens),
    threadContextTokens: 0n,
    threadMessages: 1n,
  };
}

export function plusCounts(a: ThreadCounts, b: ThreadCounts): ThreadCounts {
  return {
    threadTokens: a.threadTokens + b.threadTokens,
    threadContextTokens: a.threadContextTokens + b.threadContextTokens,
    threadMessages: a.threadMessages + b.threadMessages,
  };
}

/** Where a summary ends, and what it costs. */
export interface CountedCut {
  readonly beforeTokens: bigint;
  readonly beforeContextTokens: bigint;
  readonly summaryTokens: number;
}

/** What a thread costs with a cut, in o200k tokens: a subtraction, whatever its length. */
export function shownTokens(thread: ThreadCounts, cut: CountedCut | undefined, clean: boolean): number {
  const context = thread.threadContextTokens - (cut?.beforeContextTokens ?? 0n);
  const sent = thread.threadTokens - (cut?.beforeTokens ?? 0n);
  return Number(clean ? sent - context : sent) + summaryCost(cut).tokens;
}
