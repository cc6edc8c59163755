import type { AgentRole } from "../domain/agent-role.js";
import { type Soon, together } from "../domain/soon.js";
import type { SourceRule } from "../domain/source.js";
import type { SourceDeps } from "./deps.js";
import { withRule } from "./rules.js";
import type { ActiveSource, AskingSession, OfferedSource } from "./source.js";

interface Asker extends AskingSession {
  readonly tenantId: string;
  readonly agent: string;
  readonly role: AgentRole;
}

const none: readonly ActiveSource[] = [];

/** The sources that a context asks, by their place in it. */
export function activeSources(
  { providers }: Pick<SourceDeps, "providers">,
  { tenantId, agent, role, ...session }: Asker,
  rulesOf: ReadonlyMap<string, SourceRule>,
): Soon<readonly ActiveSource[]> {
  const asked = together(
    ...providers.map((provider) => () => provider.active(tenantId, agent, rulesOf, session)),
  );
  const choose = (offered: readonly (readonly OfferedSource[])[]) => chosen(offered, role, rulesOf);
  return asked instanceof Promise ? asked.then(choose) : choose(asked);
}

function chosen(
  offered: readonly (readonly OfferedSource[])[],
  role: AgentRole,
  rulesOf: ReadonlyMap<string, SourceRule>,
): readonly ActiveSource[] {
  if (offered.every(({ length }) => length === 0)) return none;
  return offered
    .flat()
    .map(({ source, defaults, knownTokens }) => ({
      source,
      rules: withRule(defaults, rulesOf.get(source.name)),
      knownTokens,
    }))
    .filter(({ rules }) => rules.enabled && (rules.roles.length === 0 || rules.roles.includes(role)))
    .sort(byPlace);
}

function byPlace(a: ActiveSource, b: ActiveSource): number {
  return a.rules.order - b.rules.order || (a.source.name < b.source.name ? -1 : 1);
}
