import type { AgentRole } from "../domain/agent-role.js";
import type { SourceRule } from "../domain/source.js";
import type { SourceDeps } from "./deps.js";
import { withRule } from "./rules.js";
import type { ActiveSource, AskingSession } from "./source.js";

interface Asker extends AskingSession {
  readonly tenantId: string;
  readonly agent: string;
  readonly role: AgentRole;
}

const none: readonly ActiveSource[] = [];

/** The sources that a context asks, by their place in it. */
export async function activeSources(
  { providers }: Pick<SourceDeps, "providers">,
  { tenantId, agent, role, ...session }: Asker,
  rulesOf: ReadonlyMap<string, SourceRule>,
): Promise<readonly ActiveSource[]> {
  const offered = await Promise.all(
    providers.map((provider) => provider.active(tenantId, agent, rulesOf, session)),
  );
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
