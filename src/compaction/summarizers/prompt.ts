import { sha256 } from "../../domain/hash.js";
import { defaultPromptTexts, fill } from "../../domain/prompt-texts.js";
import type { SummaryTask } from "../plan/summary-task.js";

/** What a model is asked. */
export interface SummaryPrompt {
  readonly system: string;
  readonly user: string;
}

export type SummaryRequest = Pick<
  SummaryTask,
  "previousSummary" | "instructions" | "maxTokens" | "mustKeep" | "texts"
>;

/** A word costs more than a token, and models write more than they are asked for. */
const wordsPerToken = 0.6;

/**
 * Asks for a summary of a transcript. What was said in the conversation stands between marks that it cannot
 * contain, since they are made from its hash, and is declared to be material.
 */
export function summaryPrompt(request: SummaryRequest, transcript: string): SummaryPrompt {
  const { previousSummary, instructions, maxTokens, mustKeep, texts = defaultPromptTexts } = request;
  const identifiers = mustKeep.join("\n");
  const mark = sha256(Buffer.from(JSON.stringify([previousSummary, transcript, identifiers])))
    .toString("hex")
    .slice(0, 12);
  const fenced = (name: string, text: string) => `<${name}-${mark}>\n${text}\n</${name}-${mark}>`;
  const maxWords = String(Math.max(1, Math.floor(maxTokens * wordsPerToken)));
  const words = fill(texts.summary, { maxWords, maxTokens }).trim();
  const material = fill(texts["summary-material"], {
    begin: `<conversation-${mark}>`,
    end: `</conversation-${mark}>`,
  });
  const sections = [
    previousSummary && [texts["summary-previous"], fenced("summary", previousSummary)],
    transcript && [
      previousSummary ? texts["summary-conversation-since"] : texts["summary-conversation"],
      fenced("conversation", transcript),
    ],
    identifiers && [texts["summary-identifiers"], fenced("identifiers", identifiers)],
    instructions && [texts["summary-instructions"], instructions],
    [fill(texts["summary-request"], { maxWords, maxTokens })],
  ];
  return {
    system: `${words}\n\n${material}`,
    user: sections
      .filter((section) => Array.isArray(section))
      .map((section) => section.join("\n"))
      .join("\n\n"),
  };
}
