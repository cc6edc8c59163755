import { defaultPromptTexts, fill, type PromptTexts } from "../domain/prompt-texts.js";
import { type Capability, type CapabilitySnapshot, CapabilityState } from "../domain/workspace.js";

export interface EnvironmentOptions {
  readonly texts?: PromptTexts;
  /** Only these capabilities, by name, and their credentials: a worker's share. */
  readonly scope?: readonly string[] | undefined;
  /** Whether the agent may use a capability at all; what it may not is not spoken of. */
  readonly isAllowed?: (name: string) => boolean;
}

/**
 * What an agent can do, condensed: one line for each category, in the order in which they appear first, with names
 * grouped by state. Empty when there is nothing to say.
 */
export function renderEnvironment(snapshot: CapabilitySnapshot, options: EnvironmentOptions = {}): string {
  const { texts = defaultPromptTexts, scope } = options;
  const capabilities = shownCapabilities(snapshot, options);
  const usage = capabilities.length > 0 ? [texts["environment-skills-usage"]] : [];
  const parts = [
    section(texts["environment-capabilities-heading"], categoryLines(capabilities, texts)),
    section(texts["environment-skills-heading"], [...usage, ...hintLines(capabilities, texts)]),
    section(texts["environment-credentials-heading"], credentialLines(snapshot, texts, scope)),
  ].filter((part) => part !== "");
  if (parts.length === 0) return "";
  const begin = [texts["environment-heading"], texts["environment-introduction"]];
  return [...begin, ...parts].filter((part) => part.trim() !== "").join("\n\n");
}

/** The capabilities that an agent sees: those that it may use, and of them a worker those of its scope. */
export function shownCapabilities(
  snapshot: CapabilitySnapshot,
  { scope, isAllowed = () => true }: Pick<EnvironmentOptions, "scope" | "isAllowed">,
): readonly Capability[] {
  const inScope = new Set(scope);
  return snapshot.capabilities.filter(
    ({ name }) => (scope === undefined || inScope.has(name)) && isAllowed(name),
  );
}

/** Empty without lines that say something. */
function section(heading: string, lines: readonly string[]): string {
  const said = lines.filter((line) => line.trim() !== "");
  return said.length === 0 ? "" : [heading, ...said].filter((line) => line.trim() !== "").join("\n");
}

/** Only what does not work has a reason that matters. */
const states = [
  [CapabilityState.ACTIVE, "environment-active", undefined],
  [CapabilityState.READY, "environment-ready", undefined],
  [CapabilityState.NEEDS_SETUP, "environment-needs-setup", "environment-needs-setup-reason"],
  [CapabilityState.BROKEN, "environment-broken", "environment-broken-reason"],
] as const;

function categoryLines(capabilities: readonly Capability[], texts: PromptTexts): readonly string[] {
  const lines: string[] = [];
  for (const [category, members] of groupBy(capabilities, ({ category }) => category)) {
    const groups = states.flatMap(([state, plain, withReason]) => {
      const alike = members.filter((member) => member.state === state);
      return [...groupBy(alike, ({ reason }) => (withReason ? oneLine(reason) : ""))].map(([reason, same]) =>
        fill(texts[reason === "" || !withReason ? plain : withReason], {
          names: namesOf(same, texts),
          reason,
        }),
      );
    });
    lines.push(
      fill(texts["environment-category"], {
        category,
        groups: groups.join(texts["environment-group-separator"]),
      }),
    );
  }
  return lines;
}

function hintLines(capabilities: readonly Capability[], texts: PromptTexts): readonly string[] {
  const byHint = groupBy(capabilities, ({ hint }) => oneLine(hint));
  byHint.delete("");
  return [...byHint].map(([hint, same]) =>
    fill(texts["environment-skills-hint"], { names: namesOf(same, texts), hint }),
  );
}

function credentialLines(
  snapshot: CapabilitySnapshot,
  texts: PromptTexts,
  scope: readonly string[] | undefined,
): readonly string[] {
  const broken = snapshot.credentialsBroken.filter((name) => scope === undefined || isInScope(name, scope));
  // Which credentials are configured is not known, only how many: that number is nobody's share.
  const count = scope === undefined ? snapshot.credentialsConfigured : 0;
  const groups: string[] = [];
  if (count > 0 || (scope === undefined && broken.length > 0))
    groups.push(fill(texts["environment-credentials-configured"], { count }));
  if (broken.length > 0) {
    const names = broken.join(texts["environment-name-separator"]);
    groups.push(fill(texts["environment-credentials-broken"], { count: broken.length, names }));
  }
  return groups.length === 0 ? [] : [groups.join(texts["environment-group-separator"])];
}

/** A credential belongs to the capability whose name it has, alone or before a separator: `github`, `github-token`, `github/work`. */
function isInScope(credential: string, scope: readonly string[]): boolean {
  return scope.some(
    (capability) =>
      credential === capability ||
      (credential.startsWith(capability) && /^[-_./:]/.test(credential.slice(capability.length))),
  );
}

function namesOf(capabilities: readonly Capability[], texts: PromptTexts): string {
  return capabilities.map(({ name }) => name).join(texts["environment-name-separator"]);
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
