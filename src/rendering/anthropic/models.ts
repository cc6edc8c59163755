/** What differs between Claude's versions. Names that say no version are taken for the newest. */
export interface ClaudeRules {
  /** Thinking with a budget that the caller sets. */
  readonly takesBudget: boolean;
  /** Thinking as the model sees fit, steered by an effort. */
  readonly takesAdaptive: boolean;
  readonly takesTemperature: boolean;
  /** A conversation may end with the beginning of the assistant's answer. */
  readonly takesPrefill: boolean;
  /** Messages of the operator within the conversation. */
  readonly takesSystemMessages: boolean;
}

const newest = { major: Number.POSITIVE_INFINITY, minor: 0 };
/** Of other makers that speak the same protocol, as it was first. */
const oldest = { major: 0, minor: 0 };

function versionOf(model: string): { readonly major: number; readonly minor: number } {
  if (!model.includes("claude")) return oldest;
  const [, major, minor] = /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/.exec(model) ?? [];
  return major === undefined ? newest : { major: Number(major), minor: Number(minor ?? 0) };
}

export function claudeRules(model: string): ClaudeRules {
  const { major, minor } = versionOf(model);
  const from = (since: number, sinceMinor: number) =>
    major > since || (major === since && minor >= sinceMinor);
  return {
    takesBudget: !from(4, 7),
    takesAdaptive: from(4, 6),
    takesTemperature: !from(4, 7),
    takesPrefill: !from(4, 6),
    takesSystemMessages: from(4, 8),
  };
}
