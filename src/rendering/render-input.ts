import type { Message } from "../domain/message.js";
import type { PromptTexts } from "../domain/prompt-texts.js";
import type { Tool } from "../domain/workspace.js";

/** The bodies that can be made: one for each way in which a provider takes a conversation. */
export const bodyFormats = ["anthropic", "openai-responses", "openai-chat", "gemini"] as const;
export type BodyFormat = (typeof bodyFormats)[number];

/** How much a model may think. */
export interface Thinking {
  readonly enabled: boolean;
  readonly budgetTokens: number;
  /** The provider's word for it; empty where nobody says. */
  readonly effort: string;
}

/** Where a prompt cache should keep what comes before: after the tools, after the system prompt, or after one of the messages. */
export type CacheBreakpoint =
  | { readonly after: "tools" | "system"; readonly ttlSeconds: number }
  | { readonly after: "message"; readonly messageIndex: number; readonly ttlSeconds: number };

/** A context, as every renderer gets it. */
export interface RenderInput {
  readonly model: string;
  readonly system: string;
  readonly tools: readonly Tool[];
  /** History, then the current message. Each is sent as its context parts, then its parts. */
  readonly messages: readonly Message[];
  /** The most that the model may answer with; 0 where nobody says. */
  readonly maxTokens: number;
  /** What is kept for the answer, for providers that want a number. */
  readonly outputTokens: number;
  readonly temperature: number | undefined;
  readonly thinking: Thinking | undefined;
  readonly breakpoints: readonly CacheBreakpoint[];
  /** Names the cache for providers that route by a key; empty for none. */
  readonly cacheKey: string;
  /** The words for what a provider cannot take or wants to have said; the default ones where nobody says. */
  readonly texts?: PromptTexts;
}

/** A body as its provider takes it, before it is written down. Its keys are in the order in which they are written. */
export type RenderedBody = { readonly [key: string]: unknown };

/** A rule of a provider that a body breaks. */
export interface BodyProblem {
  /** The rule's name, as in "tool_result_missing". */
  readonly rule: string;
  /** Where in the body, as in "messages[3].content[0]". */
  readonly path: string;
  readonly message: string;
}
