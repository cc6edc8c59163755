import { type Capability, type CapabilitySnapshot, CapabilityState } from "../domain/workspace.js";
import { fillTemplate } from "./fill-template.js";

/** The fixed words of the environment section, which an operator can replace. */
export interface EnvironmentTemplates {
  readonly heading: string;
  /** Between the heading and the first part; left out when empty. */
  readonly introduction: string;
  readonly capabilitiesHeading: string;
  readonly category: string;
  readonly groupSeparator: string;
  readonly nameSeparator: string;
  readonly group: string;
  readonly groupWithReason: string;
  readonly active: string;
  readonly ready: string;
  readonly needsSetup: string;
  readonly broken: string;
  readonly hintsHeading: string;
  readonly hint: string;
  readonly credentialsHeading: string;
  readonly credentialsConfigured: string;
  readonly credentialsBroken: string;
}

export const defaultEnvironmentTemplates: EnvironmentTemplates = {
  heading: "## Environment",
  introduction: "",
  capabilitiesHeading: "### Capabilities",
  category: "{category}: {groups}",
  groupSeparator: " | ",
  nameSeparator: ", ",
  group: "{names} ({state})",
  groupWithReason: "{names} ({state}: {reason})",
  active: "active",
  ready: "ready",
  needsSetup: "needs setup",
  broken: "broken",
  hintsHeading: "### Using capabilities",
  hint: "- {names}: {hint}",
  credentialsHeading: "### Credentials",
  credentialsConfigured: "{count} configured",
  credentialsBroken: "{count} broken ({names})",
};

export interface EnvironmentOptions {
  readonly templates?: EnvironmentTemplates;
  /** Only these capabilities, by name, and their credentials: a worker's share. */
  readonly scope?: readonly string[] | undefined;
}

/**
 * What an agent can do, condensed: one line for each category, in the order in which they appear first, with names
 * grouped by state. Empty when there is nothing to say.
 */
export function renderEnvironment(snapshot: CapabilitySnapshot, options: EnvironmentOptions = {}): string {
  const { templates = defaultEnvironmentTemplates, scope } = options;
  const capabilities = shownCapabilities(snapshot, scope);
  const parts = [
    section(templates.capabilitiesHeading, categoryLines(capabilities, templates)),
    section(templates.hintsHeading, hintLines(capabilities, templates)),
    section(templates.credentialsHeading, credentialLines(snapshot, templates, scope)),
  ].filter((part) => part !== "");
  if (parts.length === 0) return "";
  return [templates.heading, templates.introduction, ...parts].filter((part) => part !== "").join("\n\n");
}

/** The capabilities that a role sees: all, or those of its scope. */
export function shownCapabilities(
  snapshot: CapabilitySnapshot,
  scope: readonly string[] | undefined,
): readonly Capability[] {
  const inScope = new Set(scope);
  return snapshot.capabilities.filter(({ name }) => scope === undefined || inScope.has(name));
}

function section(heading: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [heading, ...lines].filter((line) => line !== "").join("\n");
}

const states = [
  [CapabilityState.ACTIVE, "active"],
  [CapabilityState.READY, "ready"],
  [CapabilityState.NEEDS_SETUP, "needsSetup"],
  [CapabilityState.BROKEN, "broken"],
] as const;

function categoryLines(
  capabilities: readonly Capability[],
  templates: EnvironmentTemplates,
): readonly string[] {
  const lines: string[] = [];
  for (const [category, members] of groupBy(capabilities, ({ category }) => category)) {
    const groups = states.flatMap(([state, word]) => {
      const alike = members.filter((member) => member.state === state);
      // Only what does not work has a reason that matters.
      const needsReason = state === CapabilityState.NEEDS_SETUP || state === CapabilityState.BROKEN;
      return [...groupBy(alike, ({ reason }) => (needsReason ? oneLine(reason) : ""))].map(([reason, same]) =>
        fillTemplate(reason === "" ? templates.group : templates.groupWithReason, {
          names: namesOf(same, templates),
          state: templates[word],
          reason,
        }),
      );
    });
    lines.push(fillTemplate(templates.category, { category, groups: groups.join(templates.groupSeparator) }));
  }
  return lines;
}

function hintLines(capabilities: readonly Capability[], templates: EnvironmentTemplates): readonly string[] {
  const byHint = groupBy(capabilities, ({ hint }) => oneLine(hint));
  byHint.delete("");
  return [...byHint].map(([hint, same]) =>
    fillTemplate(templates.hint, { names: namesOf(same, templates), hint }),
  );
}

function credentialLines(
  snapshot: CapabilitySnapshot,
  templates: EnvironmentTemplates,
  scope: readonly string[] | undefined,
): readonly string[] {
  const broken = snapshot.credentialsBroken.filter((name) => scope === undefined || isInScope(name, scope));
  // Which credentials are configured is not known, only how many: that number is nobody's share.
  const count = scope === undefined ? snapshot.credentialsConfigured : 0;
  const groups: string[] = [];
  if (count > 0 || (scope === undefined && broken.length > 0))
    groups.push(fillTemplate(templates.credentialsConfigured, { count }));
  if (broken.length > 0) {
    const names = broken.join(templates.nameSeparator);
    groups.push(fillTemplate(templates.credentialsBroken, { count: broken.length, names }));
  }
  return groups.length === 0 ? [] : [groups.join(templates.groupSeparator)];
}

/** A credential belongs to the capability whose name it has, alone or before a separator: `github`, `github-token`, `github/work`. */
function isInScope(credential: string, scope: readonly string[]): boolean {
  return scope.some(
    (capability) =>
      credential === capability ||
      (credential.startsWith(capability) && /^[-_./:]/.test(credential.slice(capability.length))),
  );
}

function namesOf(capabilities: readonly Capability[], { nameSeparator }: EnvironmentTemplates): string {
  return capabilities.map(({ name }) => name).join(nameSeparator);
}

/** Groups in the order of their first member. */
function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
