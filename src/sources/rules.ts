import type { AgentRole } from "../domain/agent-role.js";
import { SourceFormat, SourcePosition, type SourceRule } from "../domain/source.js";

type SetPosition = Exclude<SourcePosition, "SOURCE_POSITION_UNSPECIFIED" | "UNRECOGNIZED">;
type SetFormat = Exclude<SourceFormat, "SOURCE_FORMAT_UNSPECIFIED" | "UNRECOGNIZED">;

/** The rules of a source with nothing left open. */
export interface SourceRules {
  readonly enabled: boolean;
  /** Empty: all. */
  readonly roles: readonly AgentRole[];
  readonly position: SetPosition;
  readonly priority: number;
  readonly order: number;
  readonly maxItems: number;
  readonly maxTokens: number;
  readonly maxChars: number;
  /** Empty: by none. */
  readonly suppressedBy: string;
  readonly deadlineMs: number;
  readonly cacheSeconds: number;
  readonly thresholds: Readonly<Record<string, number>>;
  readonly format: SetFormat;
}

/** What holds for a source whose kind says nothing else. */
export const plainRules: SourceRules = {
  enabled: true,
  roles: [],
  position: SourcePosition.CURRENT,
  priority: 50,
  order: 100,
  maxItems: 16,
  maxTokens: 1_024,
  maxChars: 16_384,
  suppressedBy: "",
  deadlineMs: 2_000,
  cacheSeconds: 0,
  thresholds: {},
  format: SourceFormat.RAW,
};

/** Rules where a later one says something else, field by field. */
export function withRule(rules: SourceRules, rule: SourceRule | undefined): SourceRules {
  if (!rule) return rules;
  const { position, roles, thresholds, format } = rule;
  const isPlaced = position !== SourcePosition.UNSPECIFIED && position !== SourcePosition.UNRECOGNIZED;
  const isFormatted = format !== SourceFormat.UNSPECIFIED && format !== SourceFormat.UNRECOGNIZED;
  return {
    enabled: rule.enabled ?? rules.enabled,
    roles: roles.length > 0 ? roles : rules.roles,
    position: isPlaced ? position : rules.position,
    priority: rule.priority ?? rules.priority,
    order: rule.order ?? rules.order,
    maxItems: rule.maxItems ?? rules.maxItems,
    maxTokens: rule.maxTokens ?? rules.maxTokens,
    maxChars: rule.maxChars ?? rules.maxChars,
    suppressedBy: rule.suppressedBy ?? rules.suppressedBy,
    deadlineMs: rule.deadlineMs ?? rules.deadlineMs,
    cacheSeconds: rule.cacheSeconds ?? rules.cacheSeconds,
    thresholds:
      thresholds.length === 0
        ? rules.thresholds
        : { ...rules.thresholds, ...Object.fromEntries(thresholds.map(({ name, value }) => [name, value])) },
    format: isFormatted ? format : rules.format,
  };
}

/** The most that a source may say in a context of so many tokens: its own limit, and no more than its share where it has one. */
export function mostTokens({ maxTokens, thresholds }: SourceRules, contextTokens: number): number {
  const { share } = thresholds;
  return share === undefined ? maxTokens : Math.min(maxTokens, Math.floor(contextTokens * share));
}
