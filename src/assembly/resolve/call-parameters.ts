import type { ContextRequest } from "../../contract/gen/quire/v1/assembly_service.js";
import type { ModelDefaults, ThinkingSettings } from "../../domain/capsule.js";
import { type Warning, WarningKind, warning } from "../../domain/warning.js";
import type { FoundModel } from "../../models/catalogue.js";

/** How the model is to be called: what somebody set, and the model takes. */
export interface CallParameters {
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  readonly thinking: ThinkingSettings | undefined;
  readonly warnings: readonly Warning[];
}

/** What the model does not take is left out, since a provider would refuse it. */
export function callParameters(
  { entry, name }: Pick<FoundModel, "entry" | "name">,
  defaults: ModelDefaults | undefined,
  request: Pick<ContextRequest, "temperature">,
): CallParameters {
  const takes = new Set<string>(entry.parameters);
  const warnings: Warning[] = [];
  const leaveOut = (what: string, why: string) => {
    warnings.push(warning(WarningKind.PARAMETER_LEFT_OUT, `${what} is left out: ${name} ${why}`));
    return undefined;
  };
  let temperature = request.temperature ?? defaults?.temperature;
  if (temperature !== undefined && !takes.has("temperature"))
    temperature = leaveOut(`the temperature of ${temperature}`, "takes none");
  let thinking = defaults?.thinking;
  const mayThink = ["thinking_budget", "thinking_adaptive", "effort"].some((each) => takes.has(each));
  if (thinking?.enabled && !mayThink) thinking = leaveOut("thinking", "does not think");
  if (thinking?.enabled && thinking.budgetTokens > 0 && takesOnlyAdaptive(takes)) {
    leaveOut(`the thinking budget of ${thinking.budgetTokens} tokens`, "thinks as it sees fit");
    thinking = { ...thinking, budgetTokens: 0 };
  }
  return { temperature, maxTokens: defaults?.maxTokens || undefined, thinking, warnings };
}

function takesOnlyAdaptive(takes: ReadonlySet<string>): boolean {
  return takes.has("thinking_adaptive") && !takes.has("thinking_budget");
}
