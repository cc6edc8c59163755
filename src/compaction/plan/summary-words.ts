import { defaultPromptTexts, type PromptTexts } from "../../domain/prompt-texts.js";

/** What a piece of a summary is kept as; the summary's groups, in their order. */
export type Group = "goal" | "fact" | "open" | "tool";

const names = [
  "summary-mark",
  "extract-goals",
  "extract-facts",
  "extract-open",
  "extract-tools",
  "extract-identifiers",
  "extract-mentioned",
  "extract-user",
  "extract-assistant",
  "extract-no-answer",
  "extract-asked",
  "extract-asked-left-out",
  "extract-request",
  "extract-tasks",
  "extract-task-open",
  "extract-task-done",
  "extract-files",
  "extract-file-read",
  "extract-file-written",
  "extract-commands",
  "extract-command-failed",
  "extract-errors",
  "extract-cured",
  "extract-cured-alone",
  "extract-names",
] as const;

/** The words of a summary that is chosen from sentences by which it is taken apart again. */
export type SummaryWords = Pick<PromptTexts, (typeof names)[number]>;

const defaultSummaryWords: SummaryWords = defaultPromptTexts;

/** The headings of a summary's groups, in their order. */
export function headingsOf(words: SummaryWords): Readonly<Record<Group, string>> {
  return {
    goal: words["extract-goals"],
    fact: words["extract-facts"],
    open: words["extract-open"],
    tool: words["extract-tools"],
  };
}

/** The headings of the state of the work that a summary carries on. */
export function stateHeadingsOf(words: SummaryWords) {
  return {
    request: words["extract-request"],
    tasks: words["extract-tasks"],
    files: words["extract-files"],
    commands: words["extract-commands"],
    errors: words["extract-errors"],
    names: words["extract-names"],
  } as const;
}

/** The words as they are kept with a summary, so that it can be read when others are in force; null for the default ones. */
export function keptWords(texts: SummaryWords): string | null {
  const other = names.filter((name) => texts[name] !== defaultSummaryWords[name]);
  return other.length === 0
    ? null
    : JSON.stringify(Object.fromEntries(other.map((name) => [name, texts[name]])));
}

export function readWords(kept: string | null): SummaryWords {
  return kept === null
    ? defaultSummaryWords
    : { ...defaultSummaryWords, ...(JSON.parse(kept) as Partial<SummaryWords>) };
}
