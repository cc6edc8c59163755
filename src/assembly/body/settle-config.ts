import type { ModelConfig } from "../../contract/gen/quire/v1/assembly.js";
import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import type { BodyFormat } from "../../rendering/render-input.js";
import type { SentParameters } from "../../rendering/sent-parameters.js";

/** How the model is called by a body, and what of it is not as somebody set it. */
export function settleConfig(
  asked: ModelConfig,
  sent: SentParameters,
  format: BodyFormat,
): { readonly config: ModelConfig; readonly warnings: readonly Warning[] } {
  const warnings = [
    ...lowered("temperature", asked.temperature, sent.temperature),
    ...lowered("max_tokens", asked.maxTokens, sent.maxTokens),
  ];
  const { temperature, maxTokens } = sent;
  if (!asked.thinking?.enabled) return { config: { ...asked, temperature, maxTokens }, warnings };
  // A Gemini that is told nothing thinks as it sees fit.
  const thinking = sent.thinking ?? (format === "gemini" ? asked.thinking : undefined);
  warnings.push(...lessThinking(asked.thinking, thinking));
  return {
    config: { ...asked, temperature, maxTokens, thinking: thinking && { ...thinking, enabled: true } },
    warnings,
  };
}

function lowered(name: string, asked: number | undefined, sent: number | undefined): readonly Warning[] {
  if (asked === undefined || asked === sent) return [];
  if (sent === undefined) {
    const detail = `the ${name} of ${asked} is left out: with thinking, the provider takes none`;
    return [warning(WarningKind.PARAMETER_LEFT_OUT, detail)];
  }
  const detail = `${name} is ${sent} and not ${asked}, which is more than fits`;
  return sent < asked ? [warning(WarningKind.PARAMETER_LOWERED, detail)] : [];
}

type Thinking = NonNullable<SentParameters["thinking"]>;

function lessThinking(asked: Thinking, sent: Thinking | undefined): readonly Warning[] {
  const less = (detail: string) => [warning(WarningKind.THINKING_LOWERED, detail)];
  if (!sent)
    return less("the model is not asked to think: the provider would refuse it in this conversation");
  if (sent.budgetTokens > 0 && sent.budgetTokens < asked.budgetTokens)
    return less(`the model may think ${sent.budgetTokens} tokens and not ${asked.budgetTokens}`);
  if (
    asked.effort === "" ||
    sent.budgetTokens > 0 ||
    asked.effort.toLowerCase() === sent.effort.toLowerCase()
  )
    return [];
  const instead = sent.effort ? `${sent.effort} is sent` : "none is sent";
  const detail = `the provider has no effort ${JSON.stringify(asked.effort)}: ${instead}`;
  return [warning(WarningKind.PARAMETER_LEFT_OUT, detail)];
}
