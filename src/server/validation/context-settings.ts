import type { ContextSettings, ModelLimits } from "../../contract/gen/quire/v1/context_settings.js";
import type { Checker } from "./checker.js";

const maxReserve = 10_000_000;
const maxLimit = 100_000_000;
const maxModels = 256;
const dateSuffix = /-\d{8}$/;

/** The bounds of context settings, for every request that carries some: `field` is their path in it. */
export function checkContextSettings(
  checker: Checker,
  field: string,
  settings: ContextSettings | undefined,
): void {
  if (!settings) return;
  const whole = wholeNumbers(checker, field);
  whole("activity_limit", settings.activityLimit, 0, 1_000);
  whole("max_messages", settings.maxMessages, 1, 1_000_000);
  whole("keep_turns", settings.keepTurns, 1, 100);
  whole("reserve_response_tokens", settings.reserveResponseTokens, 0, maxReserve);
  whole("reserve_tool_tokens", settings.reserveToolTokens, 0, maxReserve);
  checker.known(`${field}.policy`, settings.policy);
  checker.known(`${field}.prefix`, settings.prefix);
  checker.known(`${field}.compression_strategy`, settings.compressionStrategy);
  whole("keep_recent", settings.keepRecent, 1, 10_000);
  whole("chunk_tokens", settings.chunkTokens, 256, 10_000_000);
  whole("half_life_turns", settings.halfLifeTurns, 1, 10_000);
  whole("summary_tokens", settings.summaryTokens, 16, 1_000_000);
  checkSummarizers(checker, `${field}.summarizers`, settings.summarizers);
  if (settings.defaultLimits) {
    checkLimits(checker, `${field}.default_limits`, settings.defaultLimits);
    if (settings.defaultLimits.model !== "") checker.wrong(`${field}.default_limits.model`, "must be empty");
  }
  if (settings.summarizationModel !== undefined)
    checker.text(`${field}.summarization_model`, settings.summarizationModel, { max: 256 });
  const { softThreshold } = settings;
  if (softThreshold !== undefined && !(softThreshold >= 0.1 && softThreshold <= 1))
    checker.wrong(`${field}.soft_threshold`, "must be from 0.1 to 1");
  checker.count(`${field}.model_limits`, settings.modelLimits, 0, maxModels);
  const seen = new Set<string>();
  for (const [index, limits] of settings.modelLimits.slice(0, maxModels).entries()) {
    checkModelLimits(checker, `${field}.model_limits[${index}]`, limits);
    if (seen.has(limits.model)) checker.wrong(`${field}.model_limits[${index}].model`, "has limits already");
    seen.add(limits.model);
  }
}

/** Which of them the server has is another question: it is answered when one is asked for a summary. */
export function checkSummarizers(
  checker: Checker,
  field: string,
  summarizers: { readonly names: readonly string[] } | undefined,
): void {
  const names = summarizers?.names ?? [];
  checker.count(`${field}.names`, names, 0, 8);
  for (const [index, name] of names.slice(0, 8).entries())
    checker.text(`${field}.names[${index}]`, name, { min: 1, max: 64 });
}

function checkModelLimits(checker: Checker, field: string, limits: ModelLimits): void {
  checker.text(`${field}.model`, limits.model, { min: 1, max: 256 });
  // Models are looked up without their date, so limits under a dated name would never be found.
  if (dateSuffix.test(limits.model))
    checker.wrong(`${field}.model`, "ends in a date: name the model without it");
  checkLimits(checker, field, limits);
}

function checkLimits(checker: Checker, field: string, limits: ModelLimits): void {
  const whole = wholeNumbers(checker, field);
  whole("max_tokens", limits.maxTokens, 1, maxLimit);
  whole("memory_tokens", limits.memoryTokens, 0, maxLimit);
  whole("history_tokens", limits.historyTokens, 0, maxLimit);
  whole("reserve_response_tokens", limits.reserveResponseTokens, 0, maxReserve);
}

function wholeNumbers(checker: Checker, field: string) {
  return (name: string, value: number | undefined, min: number, max: number): void => {
    if (value !== undefined) checker.number(`${field}.${name}`, value, min, max);
  };
}
