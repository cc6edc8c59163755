import type { PromptTexts } from "../domain/prompt-texts.js";
import { type CountedTokens, countedTokens } from "../domain/token-units.js";
import { countTokens } from "../tokens/count-tokens.js";
import type { Vocabulary } from "../tokens/vocabulary.js";
import { messageOverheadTokens } from "./message-overhead.js";

/** Calls that nobody answered, and in which words that is said. */
export interface UnansweredCalls {
  readonly unanswered: readonly string[];
  readonly texts: PromptTexts;
  readonly vocabulary: Vocabulary;
}

/** What the results that are made up for calls cost, in one message. */
export function unansweredTokens({ unanswered, texts, vocabulary }: UnansweredCalls): CountedTokens {
  const calls = unanswered.length;
  if (calls === 0) return countedTokens(0);
  return countedTokens(calls * countTokens(texts["no-result"], vocabulary) + messageOverheadTokens);
}
